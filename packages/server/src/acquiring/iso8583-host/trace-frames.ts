// Reports the bytes of each message of a connection, for a certification run.
import type { Message } from '@switchyard/iso8583';
import type { ConnectionPorts, TracedFrame } from '../spi/acquirer-spi.ts';
import type { MessageFraming } from './message-framing-and-mac.ts';

/** The bytes before a message in the bytes of its frame. */
const headerOf = (frame: Buffer, message: Buffer): Buffer =>
  Buffer.from(frame.subarray(0, frame.indexOf(message)));

/** Returns the same framing without an observer, so that payments have no additional work. */
export function traceFrames(
  framing: MessageFraming,
  onFrame: ConnectionPorts['onFrame'],
): MessageFraming {
  if (onFrame === undefined) return framing;
  const headers = new WeakMap<Buffer, Buffer>();

  function reportSent(canonical: Message, frame: Buffer): Buffer {
    const [sent] = framing.createDeframer().push(Buffer.from(frame));
    const message = Buffer.from(sent?.payload ?? '');
    onFrame?.({ direction: 'Sent', header: headerOf(frame, message), message, canonical });
    return frame;
  }

  function decodeMessage(payload: Buffer): Message | Promise<Message> {
    const received: TracedFrame = {
      direction: 'Received',
      header: headers.get(payload) ?? Buffer.alloc(0),
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
            headers.set(payload, headerOf(unread, payload));
            unread = unread.subarray(unread.indexOf(payload) + payload.length);
          }
          return frames;
        },
      };
    },
  };
}
