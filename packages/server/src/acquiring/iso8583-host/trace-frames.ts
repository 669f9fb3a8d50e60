// Reports the bytes of each message of a connection, for a certification run.
import type { ConnectionPorts } from '../spi/acquirer-spi.ts';
import type { MessageFraming } from './message-framing-and-mac.ts';

/** Returns the same framing without an observer, so that payments have no additional work. */
export function traceFrames(
  framing: MessageFraming,
  onFrame: ConnectionPorts['onFrame'],
): MessageFraming {
  if (onFrame === undefined) return framing;

  function reportSent(frame: Buffer): Buffer {
    const [sent] = framing.createDeframer().push(frame);
    const message = Buffer.from(sent?.payload ?? '');
    const header = frame.subarray(0, frame.indexOf(message));
    onFrame?.({ direction: 'Sent', header: Buffer.from(header), message });
    return frame;
  }

  return {
    ...framing,
    encodeMessage(message) {
      const frame = framing.encodeMessage(message);
      return frame instanceof Promise ? frame.then(reportSent) : reportSent(frame);
    },
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
            const message = Buffer.from(payload);
            const at = unread.indexOf(message);
            onFrame({ direction: 'Received', header: unread.subarray(0, at), message });
            unread = unread.subarray(at + message.length);
          }
          return frames;
        },
      };
    },
  };
}
