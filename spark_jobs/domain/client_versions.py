"""Releases of RocketMQ's Java client that changed what a rule looks at, as version ordinals (two a release)."""

#: 4.9.0, since which a client's default instance name is `PID#nanoTime` (`ClientConfig.changeInstanceNameToPID`).
UNIQUE_INSTANCE_NAME_VERSION = 393
#: 4.7.1, the last one with the index bug of MACHINE_ROOM (`AllocateMessageQueueByMachineRoom`).
LAST_VERSION_WITH_ROOM_BUG = 355
