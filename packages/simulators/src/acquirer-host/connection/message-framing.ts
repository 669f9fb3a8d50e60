// The bytes of a connection: frames with headers, messages of the host's dialect, and message authentication codes.
import {
  type CompiledHost,
  createDeframer,
  encodeFrame,
  type Frame,
  type Message,
} from '@switchyard/iso8583';
import { computeMac, type KeyRing } from './exchange-keys.ts';

/** A message without a valid authentication code. */
export class MacError extends Error {
  override readonly name = 'MacError';
}

export type MessageFraming = {
  /** The frames in a chunk; throws for an invalid frame. */
  push(chunk: Buffer): Frame[];
  read(payload: Buffer): Message;
  /** The bytes of a message without its frame. */
  write(message: Message): Buffer;
  /** Adds the frame; `received` is the header of the request, if the message is an answer. */
  frame(payload: Buffer, received?: Buffer): Buffer;
};

const frameBytesMax = 8192;

/** One for each connection. */
export function createMessageFraming({
  host,
  ring,
}: {
  host: CompiledHost;
  ring: KeyRing;
}): MessageFraming {
  const { framing, headers, table } = host;
  const deframer = createDeframer(framing, { maxBytes: frameBytesMax });
  const algorithm = table.mac?.algorithm;

  return {
    push: deframer.push,
    read(payload) {
      if (algorithm === undefined) return host.decode(payload);
      const { message, over, code } = host.decodeWithMac(payload);
      if (!host.requiresMac(message.mti)) return message;
      const isAuthentic = ring
        .keysFor('M')
        .some((key) => code?.equals(computeMac(algorithm, key, over)) === true);
      if (!isAuthentic)
        throw new MacError(
          'the authentication code (DE64 or DE128) of a message is missing or wrong',
        );
      return message;
    },
    write(message) {
      if (algorithm === undefined || !host.requiresMac(message.mti)) return host.encode(message);
      const [key] = ring.keysFor('M');
      if (key === undefined) throw new MacError('no key for message authentication is configured');
      const { over, seal } = host.encodeWithoutMac(message);
      return seal(computeMac(algorithm, key, over));
    },
    frame(payload, received) {
      const { length } = payload;
      const header =
        received === undefined ? headers.request(length) : headers.answer(length, received);
      return encodeFrame(framing, payload, { header });
    },
  };
}
