// Joins TCP segments to the byte streams of connections: retransmissions, reordering, keep-alives, lost packets.
import type { TcpSegment } from './tcp-segment.ts';

/** The time and the position in the file of the segment that completed the bytes. */
export type SegmentFacts = { readonly atMs: number | undefined; readonly position: string };

/** Gets the bytes of one direction of a connection, in order. */
export type StreamReceiver = {
  receive(bytes: Buffer, facts: SegmentFacts): void;
  /** Bytes that the recording does not contain. */
  skip(missingBytes: number, facts: SegmentFacts): void;
  /** The connection has ended, or the file. */
  end(): void;
};

export type TcpStream = {
  readonly source: string;
  readonly destination: string;
  readonly sourcePort: number;
  readonly destinationPort: number;
  /** True for the side that opened the connection; undefined if the recording began later. */
  readonly isOpener: boolean | undefined;
};

type WaitingSegment = {
  readonly start: number;
  readonly payload: Buffer;
  readonly facts: SegmentFacts;
};

type Direction = {
  /** The sequence number of the next byte; undefined before the first segment. */
  next: number | undefined;
  /** Segments after missing bytes, by sequence number. */
  waiting: WaitingSegment[];
  /** Packets of the connection since the first segment waits. */
  packetsWaited: number;
  readonly receiver: StreamReceiver;
};

type Connection = {
  readonly directions: Map<string, Direction>;
  initialSequence: number | undefined;
};

/** Connections that are open at the same time; the one that was silent for the longest time is closed. */
const maxConnections = 4096;
/** Missing bytes that did not come within so many packets of the connection are not in the recording. */
const maxPacketsWaited = 256;

/** The distance of two sequence numbers, which continue with 0 after 2³² − 1. */
const distance = (from: number, to: number): number => (to - from) | 0;
const advance = (sequence: number, bytes: number): number => (sequence + bytes) >>> 0;

/** Passes the new bytes of a segment to the receiver, without those of a retransmission. */
function deliver(direction: Direction, { start, payload, facts }: WaitingSegment): void {
  const { next = start, receiver } = direction;
  const repeatedBytes = distance(start, next);
  if (repeatedBytes >= payload.length) return;
  const bytes = payload.subarray(repeatedBytes);
  direction.next = advance(next, bytes.length);
  receiver.receive(bytes, facts);
}

/** Passes on the waiting segments that follow without a gap. */
function deliverWaiting(direction: Direction): void {
  for (;;) {
    const [first] = direction.waiting;
    if (first === undefined || distance(direction.next ?? first.start, first.start) > 0) break;
    direction.waiting.shift();
    deliver(direction, first);
  }
  direction.packetsWaited = 0;
}

/** Skips the missing bytes in front of the first waiting segment. */
function skipMissing(direction: Direction): void {
  const [first] = direction.waiting;
  if (first === undefined) return;
  direction.receiver.skip(distance(direction.next ?? first.start, first.start), first.facts);
  direction.next = first.start;
  deliverWaiting(direction);
}

function insertWaiting(waiting: WaitingSegment[], segment: WaitingSegment): void {
  const at = waiting.findIndex(({ start }) => distance(segment.start, start) > 0);
  waiting.splice(at === -1 ? waiting.length : at, 0, segment);
}

function acceptPayload(direction: Direction, segment: WaitingSegment): void {
  const { start, payload } = segment;
  // A recording that begins inside a connection may begin with a keep-alive of one byte.
  if (direction.next === undefined && payload.length <= 1) return;
  direction.next ??= start;
  if (distance(direction.next, start) > 0) {
    // The payload is part of a chunk of the file, which the next read releases.
    insertWaiting(direction.waiting, { ...segment, payload: Buffer.from(payload) });
    return;
  }
  deliver(direction, segment);
  deliverWaiting(direction);
}

/** @param openStream is called at the first packet of each direction of a connection */
export function createTcpStreams(openStream: (stream: TcpStream) => StreamReceiver) {
  /** In the order of their last packets. */
  const connections = new Map<string, Connection>();

  function endConnection(key: string, { directions }: Connection): void {
    connections.delete(key);
    for (const direction of directions.values()) {
      while (direction.waiting.length > 0) skipMissing(direction);
      direction.receiver.end();
    }
  }

  function openConnection(key: string, segment: TcpSegment): Connection {
    const { source, destination, sourcePort, destinationPort, isSyn, isAcknowledgement } = segment;
    const isOpener = isSyn ? !isAcknowledgement : undefined;
    const createDirection = (stream: TcpStream): Direction => ({
      next: undefined,
      waiting: [],
      packetsWaited: 0,
      receiver: openStream(stream),
    });
    const ports = { sourcePort, destinationPort };
    const reversePorts = { sourcePort: destinationPort, destinationPort: sourcePort };
    const isOtherOpener = isOpener === undefined ? undefined : !isOpener;
    const directions = new Map([
      [source, createDirection({ source, destination, ...ports, isOpener })],
      [
        destination,
        createDirection({
          source: destination,
          destination: source,
          ...reversePorts,
          isOpener: isOtherOpener,
        }),
      ],
    ]);
    const connection = { directions, initialSequence: undefined };
    connections.set(key, connection);
    const [oldest] = connections;
    if (connections.size > maxConnections && oldest !== undefined) endConnection(...oldest);
    return connection;
  }

  /** A new connection can have the addresses and ports of an earlier one. */
  function findConnection(key: string, segment: TcpSegment): Connection {
    const connection = connections.get(key);
    const opens = segment.isSyn && !segment.isAcknowledgement;
    if (connection === undefined) return openConnection(key, segment);
    if (opens && connection.initialSequence !== segment.sequence) {
      endConnection(key, connection);
      return openConnection(key, segment);
    }
    connections.delete(key);
    connections.set(key, connection);
    return connection;
  }

  return {
    receive(segment: TcpSegment, facts: SegmentFacts): void {
      const { source, destination, sequence, isSyn, isAcknowledgement, isReset, payload } = segment;
      const key = [source, destination].sort().join(' ');
      const connection = findConnection(key, segment);
      if (isSyn && !isAcknowledgement) connection.initialSequence = sequence;
      const direction = connection.directions.get(source);
      if (direction === undefined) return;
      if (isSyn) direction.next ??= advance(sequence, 1);
      const start = isSyn ? advance(sequence, 1) : sequence;
      if (payload.length > 0) acceptPayload(direction, { start, payload, facts });
      for (const each of connection.directions.values()) {
        if (each.waiting.length > 0) each.packetsWaited += 1;
        if (each.packetsWaited > maxPacketsWaited) skipMissing(each);
      }
      if (isReset) endConnection(key, connection);
    },
    /** The end of the file. */
    end(): void {
      for (const [key, connection] of [...connections]) endConnection(key, connection);
    },
  };
}
