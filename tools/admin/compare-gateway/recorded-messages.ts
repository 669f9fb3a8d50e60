// Reads the messages of a trace: a capture file of TCP, or JSON lines.
import { createReadStream } from 'node:fs';
import { createDeframer, type FrameFormat, Iso8583Error } from '@switchyard/iso8583';
import { createByteSource, isCapture, readPackets } from './capture-file.ts';
import { readJsonLines } from './json-lines.ts';
import { type RecordedMessage, type ReportFault, TraceError } from './recorded-message.ts';
import { readTcpSegment } from './tcp-segment.ts';
import { createTcpStreams, type SegmentFacts, type TcpStream } from './tcp-streams.ts';

export type TraceOptions = {
  readonly file: string;
  readonly framing: FrameFormat;
  /** The port of the host; only connections with it are read. */
  readonly port?: number | undefined;
  /** Gets the parts that are not messages. */
  readonly report: ReportFault;
  /** Gets the number of read bytes. */
  readonly onProgress?: (bytes: number) => void;
};

const chunkBytes = 1024 * 1024;
const maxFrameBytes = 65_535;
const startBytes = 64;

/** An object, after a byte order mark and blank lines. */
const jsonStart = /^(?:\xef\xbb\xbf)?\s*\{/;

type MessageSink = (message: RecordedMessage) => void;
type MessageOrigin = Pick<RecordedMessage, 'connection' | 'direction'>;

/** A TLS record of a handshake: version 3, as in SSL 3.0 to TLS 1.3. */
const isTlsHandshake = (bytes: Buffer): boolean =>
  bytes[0] === 0x16 && bytes[1] === 0x03 && (bytes[2] ?? 0xff) <= 4;

/** Cuts the bytes of one direction into messages. After a fault it begins again with the next bytes. */
function createMessageReader(
  origin: MessageOrigin,
  { framing, report }: Pick<TraceOptions, 'framing' | 'report'>,
  sink: MessageSink,
) {
  const createFrames = () => createDeframer(framing, { maxBytes: maxFrameBytes });
  let frames = createFrames();
  let lastPosition = '';
  let isFirst = true;
  let isEncrypted = false;

  const reportFault = (reason: string) =>
    report({
      reason: `${reason} (${origin.direction}, ${origin.connection})`,
      position: lastPosition,
    });

  return {
    receive(bytes: Buffer, { atMs, position }: SegmentFacts): void {
      lastPosition = position;
      if (isFirst && isTlsHandshake(bytes)) {
        isEncrypted = true;
        reportFault('the connection is encrypted (TLS): record behind the end of TLS');
      }
      isFirst = false;
      if (isEncrypted) return;
      try {
        for (const { payload } of frames.push(bytes)) {
          // An empty frame is a heartbeat.
          if (payload.length > 0) sink({ ...origin, atMs, position, payload });
        }
      } catch (error) {
        if (!(error instanceof Iso8583Error)) throw error;
        reportFault(`the length in front of a message is invalid: ${error.code}`);
        frames = createFrames();
      }
    },
    skip(missingBytes: number, { position }: SegmentFacts): void {
      lastPosition = position;
      reportFault(`${missingBytes} bytes are not in the recording`);
      frames = createFrames();
    },
    /** Reports the bytes of an incomplete message. */
    end(): void {
      const bytes = frames.heldBytes();
      if (bytes > 0) reportFault(`the last message is incomplete: ${bytes} bytes`);
      frames = createFrames();
    },
  };
}

/** The host listens; without the first packets of a connection it is the side with the lower port. */
function directionOf(
  { isOpener, sourcePort, destinationPort }: TcpStream,
  port: number | undefined,
): RecordedMessage['direction'] {
  const isToHost =
    port === undefined ? (isOpener ?? sourcePort > destinationPort) : destinationPort === port;
  return isToHost ? 'ToHost' : 'FromHost';
}

type ByteSource = ReturnType<typeof createByteSource>;

async function* readCapture(
  source: ByteSource,
  options: TraceOptions,
): AsyncGenerator<RecordedMessage> {
  const { port, report } = options;
  let complete: RecordedMessage[] = [];
  const streams = createTcpStreams((stream) => {
    const direction = directionOf(stream, port);
    const { source: from, destination: to } = stream;
    const connection = direction === 'ToHost' ? `${from} > ${to}` : `${to} > ${from}`;
    return createMessageReader({ direction, connection }, options, (message) =>
      complete.push(message),
    );
  });
  const reportedReasons = new Set<string>();
  for await (const packet of readPackets(source, report)) {
    const segment = readTcpSegment(packet);
    const position = `byte ${packet.offset}`;
    if (segment === undefined)
      throw new TraceError(`the link type ${packet.linkType} of the capture is not supported`);
    if (!('payload' in segment)) {
      const { reason } = segment;
      // One line for each reason: a capture can have many such packets of other connections.
      if (reason !== undefined && !reportedReasons.has(reason)) report({ reason, position });
      if (reason !== undefined) reportedReasons.add(reason);
      continue;
    }
    if (port !== undefined && segment.sourcePort !== port && segment.destinationPort !== port)
      continue;
    streams.receive(segment, { atMs: packet.atMs, position });
    yield* complete;
    complete = [];
  }
  streams.end();
  yield* complete;
}

async function* readLines(
  source: ByteSource,
  options: TraceOptions,
): AsyncGenerator<RecordedMessage> {
  let complete: RecordedMessage[] = [];
  for await (const line of readJsonLines(source.rest(), options.report)) {
    const { atMs, position, connection, direction, bytes, isFramed } = line;
    const origin = { connection, direction };
    if (!isFramed) {
      yield { ...origin, atMs, position, payload: bytes };
      continue;
    }
    // A line has complete frames, so that no line depends on another one.
    const reader = createMessageReader(origin, options, (message) => complete.push(message));
    reader.receive(bytes, { atMs, position });
    reader.end();
    yield* complete;
    complete = [];
  }
}

async function* countBytes(
  chunks: AsyncIterable<Buffer>,
  onProgress: (bytes: number) => void,
): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    onProgress(bytes);
    yield chunk;
  }
}

/**
 * Reads a trace of any length in bounded memory.
 *
 * @throws TraceError if the file is no trace, or a damaged one; errors of the file system
 */
export async function* readTrace(options: TraceOptions): AsyncGenerator<RecordedMessage> {
  const { file, onProgress = () => undefined } = options;
  const stream = createReadStream(file, { highWaterMark: chunkBytes });
  const source = createByteSource(countBytes(stream, onProgress));
  const start = await source.peek(startBytes);
  if (start.length === 0) throw new TraceError('the file is empty');
  if (isCapture(start)) yield* readCapture(source, options);
  else if (jsonStart.test(start.toString('latin1'))) yield* readLines(source, options);
  else throw new TraceError('the file is neither a capture file (pcap, pcapng) nor JSON lines');
}
