// One end of a session over NATS; it keeps the order, controls the flow, and ends after a loss.
import { connectorLimits } from '@switchyard/contract';
import type { Clock } from '../../platform/index.ts';
import { BackplaneError } from './backplane.ts';
import type { NatsClient } from './nats-connection.ts';
import {
  type Frame,
  type FrameKind,
  readCount,
  readFrame,
  splitMessage,
  writeCount,
  writeFrame,
} from './session-frames.ts';

export type SessionStreamEvents = {
  /** Called once, as the first event, when the other end has connected. */
  opened?(): void;
  /** The receiver calls `acknowledge` when it has passed the message on and can accept more. */
  message(data: Buffer, isBinary: boolean, acknowledge: () => void): void;
  /** The other end has closed normally. */
  closed(code: number, reason: string): void;
  /** The other end is not reachable any more, or a frame was lost. */
  lost(): void;
};

export type SessionStream = {
  open(): void;
  send(data: Buffer, isBinary: boolean, onSent?: () => void): void;
  /** Bytes that the other end has not acknowledged yet. */
  buffered(): number;
  /** Stops the acknowledgements, so that the other end stops sending. */
  pause(): void;
  resume(): void;
  close(code: number, reason: string): void;
  /** Checks if the other end is still there. */
  tick(now: number): void;
  disconnect(): void;
};

type Deps = {
  readonly natsClient: NatsClient;
  readonly clock: Clock;
  /** The NATS subjects of this end and of the other end. */
  readonly localSubject: string;
  readonly remoteSubject: string;
  readonly onEnded: (stream: SessionStream) => void;
};

/** A sent message, with the callback for its acknowledgement. */
type SentMessage = {
  readonly endsAtByte: number;
  readonly onAcknowledged: (() => void) | undefined;
};

/**
 * Each message counts this many extra bytes, so that empty messages need an acknowledgement too.
 */
const messageOverheadBytes = 64;

const heartbeatMs = 2000;
const heartbeatSubject = (subject: string) => `${subject}.beat`;

/** @example const stream = createSessionStream({ natsClient, clock, localSubject, remoteSubject, onEnded }, events); */
export function createSessionStream(deps: Deps, events: SessionStreamEvents): SessionStream {
  const { natsClient, clock, localSubject, remoteSubject } = deps;
  let isEnded = false;
  let nextSentSequence = 0;
  let nextReceivedSequence = 0;
  let sentBytes = 0;
  let acknowledgedBytes = 0;
  let receivedBytes = 0;
  let reportedBytes = 0;
  let isPaused = false;
  let parts: Buffer[] = [];
  let partBytes = 0;
  let nextHeartbeatAt = clock.now() + heartbeatMs;
  const unacknowledged: SentMessage[] = [];

  function write(kind: FrameKind, body: Buffer, hasMore = false): void {
    natsClient.publish(
      remoteSubject,
      writeFrame({ kind, sequence: nextSentSequence, hasMore, body }),
    );
    nextSentSequence = (nextSentSequence + 1) >>> 0;
  }

  function stop(): void {
    if (isEnded) return;
    isEnded = true;
    for (const unsubscribe of unsubscribes) unsubscribe();
    for (const { onAcknowledged } of unacknowledged.splice(0)) onAcknowledged?.();
    deps.onEnded(stream);
  }

  function disconnect(): void {
    if (isEnded) return;
    stop();
    events.lost();
  }

  function sendAcknowledgement(): void {
    if (isPaused || isEnded || reportedBytes === receivedBytes) return;
    reportedBytes = receivedBytes;
    write('taken', writeCount(receivedBytes));
  }

  function receivePart({ kind, hasMore, body }: Frame): void {
    partBytes += body.length;
    if (partBytes > connectorLimits.messageMaxBytes) {
      disconnect();
      return;
    }
    parts.push(body);
    if (hasMore) return;
    const data = Buffer.concat(parts);
    parts = [];
    partBytes = 0;
    events.message(data, kind === 'binary', () => {
      receivedBytes += data.length + messageOverheadBytes;
      sendAcknowledgement();
    });
  }

  function receiveAcknowledgement(count: number): void {
    acknowledgedBytes = Math.max(acknowledgedBytes, count);
    while (unacknowledged[0] !== undefined && unacknowledged[0].endsAtByte <= acknowledgedBytes)
      unacknowledged.shift()?.onAcknowledged?.();
  }

  function receiveClose(body: Buffer): void {
    const code = body.length < 2 ? 1000 : body.readUInt16BE(0);
    stop();
    events.closed(code, body.subarray(2).toString());
  }

  function receiveFrame(bytes: Uint8Array): void {
    const frame = readFrame(bytes);
    if (isEnded) return;
    if (frame === undefined || frame.sequence !== nextReceivedSequence) {
      disconnect();
      return;
    }
    nextReceivedSequence = (nextReceivedSequence + 1) >>> 0;
    if (frame.kind === 'text' || frame.kind === 'binary') receivePart(frame);
    else if (frame.kind === 'taken') receiveAcknowledgement(readCount(frame.body));
    else if (frame.kind === 'close') receiveClose(frame.body);
    else events.opened?.();
  }

  const unsubscribes = [
    natsClient.subscribe(localSubject, receiveFrame),
    natsClient.subscribe(heartbeatSubject(localSubject), (_, answer) => answer(Buffer.alloc(0))),
  ];

  async function checkRemoteEnd(): Promise<void> {
    try {
      if (
        (await natsClient.request(heartbeatSubject(remoteSubject), Buffer.alloc(0))) === undefined
      )
        disconnect();
    } catch (error) {
      if (!(error instanceof BackplaneError)) throw error;
      disconnect();
    }
  }

  const stream: SessionStream = {
    open: () => write('open', Buffer.alloc(0)),
    send(data, isBinary, onSent) {
      if (isEnded) return;
      const messageParts = splitMessage(data);
      sentBytes += data.length + messageOverheadBytes;
      unacknowledged.push({ endsAtByte: sentBytes, onAcknowledged: onSent });
      messageParts.forEach((part, at) => {
        write(isBinary ? 'binary' : 'text', part, at < messageParts.length - 1);
      });
    },
    buffered: () => (isEnded ? 0 : sentBytes - acknowledgedBytes),
    pause() {
      isPaused = true;
    },
    resume() {
      isPaused = false;
      sendAcknowledgement();
    },
    close(code, reason) {
      if (isEnded) return;
      const codeBytes = Buffer.alloc(2);
      codeBytes.writeUInt16BE(code, 0);
      write('close', Buffer.concat([codeBytes, Buffer.from(reason)]));
      stop();
    },
    tick(now) {
      if (isEnded || now < nextHeartbeatAt) return;
      nextHeartbeatAt = now + heartbeatMs;
      void checkRemoteEnd();
    },
    disconnect,
  };
  return stream;
}
