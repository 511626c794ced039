# A dumbbell for ns-2, as `tools/ns2` calls it:
#
#     ns tools/ns2.tcl DURATION RATE DELAY BUFFER LOSS SEED SETTINGS FLOW...
#
# seconds, bit/s, packets and a share of 1; SETTINGS are any number of CLASS,VARIABLE,VALUE as one word, a FLOW is
# CONTROL,START,PACKET,ACCESS_RATE,ACCESS_DELAY,ACCESS_BUFFER.
# Prints a line for each flow: packets sent, sent again, acknowledged, and the mean window; then the packets dropped by
# the queues and lost on the wire. To the standard error, because ns-2's TCP-LP writes thousands of lines to the standard
# output, one of them into another.

lassign $argv duration rate delay buffer loss seed settings
set flows [lrange $argv 7 end]
set ample 1000000
set header 50 ;# 40 bytes of IP and TCP, 10 of timestamps

ns-random $seed
set ns [new Simulator]
set left [$ns node]
set right [$ns node]
$ns duplex-link $left $right $rate $delay DropTail
$ns queue-limit $left $right $buffer
$ns queue-limit $right $left $ample
set queues [list [$ns monitor-queue $left $right ""]]
set wire [new ErrorModel]
$wire set rate_ $loss
$wire unit pkt
$wire ranvar [new RandomVariable/Uniform]
set lost [new Agent/LossMonitor]
if {$loss > 0} {
    $ns link-lossmodel $wire $left $right
    $wire drop-target $lost
}

Agent/TCP set window_ $ample
Agent/TCP set timestamps_ true
foreach setting $settings {
    lassign [split $setting ,] class variable value
    $class set $variable $value
}
set senders {}
foreach flow $flows {
    lassign [split $flow ,] control start packet access_rate access_delay access_buffer
    set from [$ns node]
    set to [$ns node]
    $ns duplex-link $from $left $access_rate $access_delay DropTail
    $ns queue-limit $from $left $access_buffer
    $ns queue-limit $left $from $ample
    $ns duplex-link $right $to 100Gb 0 DropTail
    $ns queue-limit $right $to $ample
    $ns queue-limit $to $right $ample
    lappend queues [$ns monitor-queue $from $left ""]
    set sender [new Agent/TCP/Linux]
    $sender set packetSize_ [expr {$packet - $header}]
    set sink [new Agent/TCPSink/Sack1]
    $sink set ts_echo_rfc1323_ true
    $ns attach-agent $from $sender
    $ns attach-agent $to $sink
    $ns connect $sender $sink
    set source [new Application/FTP]
    $source attach-agent $sender
    $ns at 0 "$sender select_ca $control"
    $ns at $start "$source start"
    lappend senders $sender
    set began($sender) $start
    set windows($sender) 0.0
}

# The windows' time averages, from when each flow starts.
set step 0.01
proc sample {} {
    global ns senders windows began step
    foreach sender $senders {
        if {[$ns now] >= $began($sender)} {
            set windows($sender) [expr {$windows($sender) + $step * [$sender set cwnd_]}]
        }
    }
    $ns at [expr {[$ns now] + $step}] sample
}

proc finish {} {
    global senders windows began duration queues lost
    foreach sender $senders {
        set mean [expr {$windows($sender) / ($duration - $began($sender))}]
        puts stderr "flow [$sender set ndatapack_] [$sender set nrexmitpack_] [expr {[$sender set ack_] + 1}] $mean"
    }
    set dropped 0
    foreach queue $queues { incr dropped [$queue set pdrops_] }
    puts stderr "network $dropped [$lost set npkts_]"
    exit 0
}

sample
$ns at $duration finish
$ns run
