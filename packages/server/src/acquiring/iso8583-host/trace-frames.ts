// Reports the bytes of each message of a connection, for a certification run.
import type { Message } from '@switchyard/iso8583';
import type { ConnectionPorts, TracedFrame } from '../spi/acquirer-spi.ts';
import type { MessageFraming } from './message-framing-and-mac.ts';

type Parts = Pick<TracedFrame, 'header' | 'trailer'>;

/** The bytes before and after a message in the bytes of its frame. */
function splitFrame(frame: Buffer, message: Buffer, trailerLength?: number): Parts {
  const start = frame.indexOf(message);
  const end = start + message.length;
  const frameEnd = trailerLength === undefined ? frame.length : end + trailerLength;
  return {
    header: Buffer.from(frame.subarray(0, start)),
    trailer: Buffer.from(frame.subarray(end, frameEnd)),
  };
}

const noParts: Parts = { header: Buffer.alloc(0), trailer: Buffer.alloc(0) };

/** Returns the same framing without an observer, so that payments have no additional work. */
export function traceFrames(
  framing: MessageFraming,
  onFrame: ConnectionPorts['onFrame'],
): MessageFraming {
  if (onFrame === undefined) return framing;
  const partsByPayload = new WeakMap<Buffer, Parts>();
  /** All frames of a host have the same end; the sign-on is sent first. */
  let trailerLength = 0;

  function reportSent(canonical: Message, frame: Buffer): Buffer {
    const [sent] = framing.createDeframer().push(Buffer.from(frame));
    const message = Buffer.from(sent?.payload ?? '');
    const parts = splitFrame(frame, message);
    trailerLength = parts.trailer.length;
    onFrame?.({ direction: 'Sent', ...parts, message, canonical });
    return frame;
  }

  function decodeMessage(payload: Buffer): Message | Promise<Message> {
    const received: TracedFrame = {
      direction: 'Received',
      ...(partsByPayload.get(payload) ?? noParts),
      message: Buffer.from(payload),
    };
    const reportRead = (canonical: Message) => {
      onFrame?.({ ...received, canonical });
      return canonical;
    };
    const reportUnreadable = (error: unknown): never => {
      onFrame?.(received);
      throw error;
    };
    let read: Message | Promise<Message>;
    try {
      read = framing.decodeMessage(payload);
    } catch (error) {
      return reportUnreadable(error);
    }
    return read instanceof Promise ? read.then(reportRead, reportUnreadable) : reportRead(read);
  }

  return {
    ...framing,
    encodeMessage(message, requestHeader) {
      const frame = framing.encodeMessage(message, requestHeader);
      return frame instanceof Promise
        ? frame.then((bytes) => reportSent(message, bytes))
        : reportSent(message, frame);
    },
    decodeMessage,
    createDeframer() {
      const deframer = framing.createDeframer();
      let unread = Buffer.alloc(0);
      return {
        ...deframer,
        push(chunk) {
          const frames = deframer.push(chunk);
          unread = Buffer.concat([unread, chunk]);
          for (const { payload } of frames) {
            // An empty message is a heartbeat.
            if (payload.length === 0) continue;
            const parts = splitFrame(unread, payload, trailerLength);
            partsByPayload.set(payload, parts);
            unread = unread.subarray(parts.header.length + payload.length + parts.trailer.length);
          }
          return frames;
        },
      };
    },
  };
}
