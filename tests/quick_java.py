"""How the tests start a Java that lives for seconds only."""

#: In the environment: the quick compiler alone takes a third less CPU. Without the last option what it has compiled
#: would not fit after some minutes, and Java would go on without a compiler.
QUICK_JAVA = {"JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m"}
