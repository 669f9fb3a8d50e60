// Encodes messages into frames and decodes payloads, with the MAC of the dialect table.
import { timingSafeEqual } from 'node:crypto';
import {
  createDeframer,
  type Deframer,
  encodeFrame,
  type Host,
  type Message,
} from '@switchyard/iso8583';
import type { Hsm } from '../../vault/index.ts';

/** A MAC is missing, is invalid or cannot be computed. */
export class MacFault extends Error {
  override name = 'MacFault';
}

export type Wire = {
  /** Synchronous if the message has no MAC. */
  write(message: Message): Buffer | Promise<Buffer>;
  /** @throws Iso8583Error, or MacError if the MAC is missing or invalid */
  read(payload: Buffer): Message | Promise<Message>;
  deframer(): Deframer;
  /** False if financial messages require a MAC key and none exists. */
  hasKeys(): boolean;
};

export type WireDeps = {
  host: Host;
  /** Hexadecimal; default from the dialect table. */
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
    if (hsm === undefined || algorithm === undefined) throw new MacFault('no HSM is configured');
    return (await hsm.mac({ keyRef, algorithm, data })).subarray(0, codeBytes);
  }

  async function sealed(message: Message): Promise<Buffer> {
    const [keyRef] = macKeys();
    if (keyRef === undefined) throw new MacFault('the link has no MAC key');
    const { over, seal } = host.unsealed(message);
    return frame(seal(await codeOf(keyRef, over)));
  }

  async function believed(payload: Buffer): Promise<Message> {
    const { message, over, code } = host.opened(payload);
    if (!host.wantsMac(message.mti)) return message;
    if (code === undefined) throw new MacFault('the MAC of the message is missing');
    // The host may use the previous key during a key update.
    for (const keyRef of macKeys()) {
      if (timingSafeEqual(await codeOf(keyRef, over), code)) return message;
    }
    throw new MacFault('the MAC of the message is invalid');
  }

  return {
    write: (message) =>
      host.wantsMac(message.mti) ? sealed(message) : frame(host.encode(message)),
    // The payload may be a view of a reused buffer, so it is copied before the HSM call.
    read: (payload) =>
      table.mac === undefined ? host.decode(payload) : believed(Buffer.from(payload)),
    deframer: () => createDeframer(framing, { maxBytes: frameBytesMax }),
    hasKeys: () => !host.wantsMac(financial) || macKeys().length > 0,
  };
}
