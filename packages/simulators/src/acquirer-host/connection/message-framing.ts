// What stands on the wire of a connection: frames with their TPDU, messages in the host's own way, codes.
import {
  createDeframer,
  encodeFrame,
  type Frame,
  type Host,
  type Message,
} from '@switchyard/iso8583';
import { type KeyRing, macOf } from './exchange-keys.ts';

/** A message whose authentication is missing or another one. */
export class MacError extends Error {
  override readonly name = 'MacError';
}

export type Wire = {
  /** The frames of a chunk; throws where the stream has lost its limits. */
  push(chunk: Buffer): Frame[];
  read(payload: Buffer): Message;
  /** The bytes of a message without its frame. */
  write(message: Message): Buffer;
  /** Puts the frame around them: to the TPDU that a request came with, the other way round. */
  frame(payload: Buffer, tpdu: Buffer): Buffer;
};

const frameBytesMax = 8192;
const idBytes = 1;
const addressBytes = 2;

/** The addresses of a TPDU change places: whoever sent it gets it. */
function turned(tpdu: Buffer): Buffer {
  const id = tpdu.subarray(0, idBytes);
  const to = tpdu.subarray(idBytes, idBytes + addressBytes);
  const from = tpdu.subarray(idBytes + addressBytes);
  return Buffer.concat([id, from, to]);
}

/** One for each connection. */
export function createWire({ host, ring }: { host: Host; ring: KeyRing }): Wire {
  const { framing, table } = host;
  const deframer = createDeframer(framing, { maxBytes: frameBytesMax });
  const algorithm = table.mac?.algorithm;
  const ownTpdu = Buffer.from(table.framing.tpdu ?? '', 'hex');

  return {
    push: deframer.push,
    read(payload) {
      if (algorithm === undefined) return host.decode(payload);
      const { message, over, code } = host.opened(payload);
      if (!host.wantsMac(message.mti)) return message;
      const good = ring.of('M').some((key) => code?.equals(macOf(algorithm, key, over)) === true);
      if (!good) throw new MacError('the authentication of a message is missing or another one');
      return message;
    },
    write(message) {
      if (algorithm === undefined || !host.wantsMac(message.mti)) return host.encode(message);
      const [key] = ring.of('M');
      if (key === undefined) throw new MacError('there is no key of message authentication');
      const { over, seal } = host.unsealed(message);
      return seal(macOf(algorithm, key, over));
    },
    frame(payload, tpdu) {
      if ((framing.tpduBytes ?? 0) === 0) return encodeFrame(framing, payload);
      return encodeFrame(framing, payload, { tpdu: tpdu.length > 0 ? turned(tpdu) : ownTpdu });
    },
  };
}
