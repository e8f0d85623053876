// Push consumers of rocketmq-client-go, one process each.
//
// NAMESRV GROUP TOPIC STRATEGY [INSTANCE], STRATEGY one of AVG, CIRCLE, HASH, ORDERLY (AVG, in order); without an
// instance the process id is in the client id. SIGUSR1 blocks the listener, SIGUSR2 lets it go on. It prints a line for
// every change of the queues that it holds, for every message that the listener got, and the messages of each second.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"reflect"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	rocketmq "github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/rlog"
)

var (
	got     int64
	blocked sync.Mutex
)

func main() {
	rlog.SetLogLevel("error")
	namesrv, group, topic, strategy := strings.Split(os.Args[1], ";"), os.Args[2], os.Args[3], os.Args[4]
	options := []consumer.Option{
		consumer.WithNsResolver(primitive.NewPassthroughResolver(namesrv)),
		consumer.WithGroupName(group),
		consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset),
		consumer.WithConsumerOrder(strategy == "ORDERLY"),
		consumer.WithStrategy(strategyOf(strategy)),
	}
	if len(os.Args) > 5 {
		options = append(options, consumer.WithInstance(os.Args[5]))
	}
	push, err := rocketmq.NewPushConsumer(options...)
	check(err)
	check(push.Subscribe(topic, consumer.MessageSelector{}, listen))
	check(push.Start())
	fmt.Println("started 1")
	run(push, group, topic)
}

func strategyOf(name string) consumer.AllocateStrategy {
	switch name {
	case "CIRCLE":
		return consumer.AllocateByAveragelyCircle
	case "HASH":
		return consumer.AllocateByConsistentHash(10)
	}
	return consumer.AllocateByAveragely
}

func listen(told context.Context, messages ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
	blocked.Lock()
	blocked.Unlock()
	atomic.AddInt64(&got, int64(len(messages)))
	queue := queueOf(told)
	for _, message := range messages {
		fmt.Printf("message %d %s %s:%d %d\n", now(), message.Topic, queue.BrokerName, queue.QueueId, message.QueueOffset)
	}
	return consumer.ConsumeSuccess, nil
}

// Messages of client 2.1.0 do not name their broker.
func queueOf(told context.Context) primitive.MessageQueue {
	if orderly, isOrderly := primitive.GetOrderlyCtx(told); isOrderly {
		return orderly.MQ
	}
	concurrent, _ := primitive.GetConcurrentlyCtx(told)
	return concurrent.MQ
}

func run(push rocketmq.PushConsumer, group, topic string) {
	id, table := inside(push)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2)
	clock := time.NewTicker(250 * time.Millisecond)
	before := ""
	for {
		select {
		case number := <-signals:
			switch number {
			case syscall.SIGUSR1:
				blocked.Lock()
			case syscall.SIGUSR2:
				blocked.Unlock()
			default:
				_ = push.Shutdown()
				fmt.Println("gone", now(), group, id)
				return
			}
		case <-clock.C:
			if held := queues(table, topic); held != before {
				fmt.Println("holds", now(), group, id, topic, held)
				before = held
			}
			if messages := atomic.SwapInt64(&got, 0); messages > 0 {
				fmt.Println("got", now(), group, id, topic, messages)
			}
		}
	}
}

// The client id and the process queues of a consumer, which it shows to brokers only.
func inside(push rocketmq.PushConsumer) (string, *sync.Map) {
	of := reflect.ValueOf(push).Elem().FieldByName("defaultConsumer").Elem()
	client := of.FieldByName("client")
	client = reflect.NewAt(client.Type(), unsafe.Pointer(client.UnsafeAddr())).Elem()
	id := client.MethodByName("ClientID").Call(nil)[0].String()
	return id, (*sync.Map)(unsafe.Pointer(of.FieldByName("processQueueTable").UnsafeAddr()))
}

func queues(table *sync.Map, topic string) string {
	held := []string{}
	table.Range(func(key, _ interface{}) bool {
		if queue := key.(primitive.MessageQueue); queue.Topic == topic {
			held = append(held, fmt.Sprintf("%s:%d", queue.BrokerName, queue.QueueId))
		}
		return true
	})
	if len(held) == 0 {
		return "-"
	}
	sort.Strings(held)
	return strings.Join(held, ",")
}

func now() int64 {
	return time.Now().UnixNano() / 1e6
}

func check(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}
