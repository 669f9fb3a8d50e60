// Turns messages into frames and back, with the authentication codes that the host's table asks for.
import { timingSafeEqual } from 'node:crypto';
import {
  createDeframer,
  type Deframer,
  encodeFrame,
  type Host,
  type Message,
} from '@switchyard/iso8583';
import type { Hsm } from '../../vault/index.ts';

/** What cannot be sent or believed for want of an authentication code. */
export class MacFault extends Error {
  override name = 'MacFault';
}

export type Wire = {
  /** At once where no code is to be computed. */
  write(message: Message): Buffer | Promise<Buffer>;
  /** @throws Iso8583Error, or MacFault where the code is missing or another one */
  read(payload: Buffer): Message | Promise<Message>;
  deframer(): Deframer;
  /** False while payments need a key that is not there. */
  hasKeys(): boolean;
};

export type WireDeps = {
  host: Host;
  /** Hexadecimal; the table's where left out. */
  tpdu?: string | undefined;
  hsm?: Pick<Hsm, 'mac'> | undefined;
  macKeys(): readonly string[];
};

const frameBytesMax = 8192;
const codeBytes = 8;
const financial = '0200';

/** @example const wire = createWire({ host, hsm, macKeys: ring.macKeys }); */
export function createWire({ host, tpdu, hsm, macKeys }: WireDeps): Wire {
  const { framing, table } = host;
  const algorithm = table.mac?.algorithm;
  const header = (framing.tpduBytes ?? 0) === 0 ? undefined : (tpdu ?? table.framing.tpdu ?? '');
  const extra = header === undefined ? {} : { tpdu: Buffer.from(header, 'hex') };
  const frame = (payload: Buffer) => encodeFrame(framing, payload, extra);

  async function codeOf(keyRef: string, data: Buffer): Promise<Buffer> {
    if (hsm === undefined || algorithm === undefined) throw new MacFault('no security module');
    return (await hsm.mac({ keyRef, algorithm, data })).subarray(0, codeBytes);
  }

  async function sealed(message: Message): Promise<Buffer> {
    const [keyRef] = macKeys();
    if (keyRef === undefined) throw new MacFault('no key of message authentication');
    const { over, seal } = host.unsealed(message);
    return frame(seal(await codeOf(keyRef, over)));
  }

  async function believed(payload: Buffer): Promise<Message> {
    const { message, over, code } = host.opened(payload);
    if (!host.wantsMac(message.mti)) return message;
    if (code === undefined) throw new MacFault('a message without authentication');
    // The host may answer under the key before while a new one is on its way.
    for (const keyRef of macKeys()) {
      if (timingSafeEqual(await codeOf(keyRef, over), code)) return message;
    }
    throw new MacFault('the authentication of a message is another one');
  }

  return {
    write: (message) =>
      host.wantsMac(message.mti) ? sealed(message) : frame(host.encode(message)),
    // A payload may be a view of a chunk that is gone by the time that a module has answered.
    read: (payload) =>
      table.mac === undefined ? host.decode(payload) : believed(Buffer.from(payload)),
    deframer: () => createDeframer(framing, { maxBytes: frameBytesMax }),
    hasKeys: () => !host.wantsMac(financial) || macKeys().length > 0,
  };
}
