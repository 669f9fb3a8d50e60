// Encodes messages into frames and decodes payloads, with the MAC of the host table.
import { timingSafeEqual } from 'node:crypto';
import {
  type CompiledHost,
  createDeframer,
  encodeFrame,
  type Iso8583Error,
  type Message,
  type RequestLookup,
} from '@switchyard/iso8583';
import type { Hsm } from '../../vault/index.ts';

/** A MAC is missing, is invalid or cannot be computed. */
export class MacError extends Error {
  override name = 'MacError';
}

export type MessageFraming = ReturnType<typeof createMessageFraming>;

export type MessageFramingOptions = {
  host: CompiledHost;
  /** Hexadecimal; default from the host table. */
  tpdu?: string | undefined;
  hsm?: Pick<Hsm, 'mac'> | undefined;
  listMacKeyRefs(): readonly string[];
  /** Without it, invalid characters refuse the whole message. */
  onIgnoredField?: (error: Iso8583Error) => void;
  /** Finds the request of a response, if the host has one message type for several operations. */
  findRequest?: RequestLookup;
};

const maxFrameBytes = 8192;
const macBytes = 8;
const financialMti = '0200';

export function createMessageFraming(options: MessageFramingOptions) {
  const { host, tpdu, hsm, listMacKeyRefs, onIgnoredField, findRequest } = options;
  const { framing, headers, table } = host;
  const algorithm = table.mac?.algorithm;
  const textErrors = onIgnoredField && {
    canIgnore: host.canIgnoreField,
    onIgnored: onIgnoredField,
  };
  const hasTpdu = (table.framing.tpduBytes ?? 0) > 0;
  const ownTpdu = tpdu === undefined || !hasTpdu ? undefined : Buffer.from(tpdu, 'hex');

  function frame(payload: Buffer, received: Buffer | undefined): Buffer {
    const { length } = payload;
    const header =
      received === undefined ? headers.request(length, ownTpdu) : headers.answer(length, received);
    return encodeFrame(framing, payload, { header });
  }

  async function computeMac(keyRef: string, data: Buffer): Promise<Buffer> {
    if (hsm === undefined || algorithm === undefined) throw new MacError('no HSM is configured');
    return (await hsm.mac({ keyRef, algorithm, data })).subarray(0, macBytes);
  }

  async function encodeWithMac(message: Message, received: Buffer | undefined): Promise<Buffer> {
    const [keyRef] = listMacKeyRefs();
    if (keyRef === undefined) throw new MacError('the link has no MAC key');
    const { over, seal } = host.encodeWithoutMac(message);
    return frame(seal(await computeMac(keyRef, over)), received);
  }

  async function decodeAndVerifyMac(payload: Buffer): Promise<Message> {
    const { message, over, code } = host.decodeWithMac(payload, textErrors, findRequest);
    if (!host.requiresMac(message.mti)) return message;
    if (code === undefined) throw new MacError('the MAC of the message is missing');
    // The host may use the previous key during a key update.
    for (const keyRef of listMacKeyRefs()) {
      if (timingSafeEqual(await computeMac(keyRef, over), code)) return message;
    }
    throw new MacError('the MAC of the message is invalid');
  }

  return {
    /**
     * Synchronous if the message has no MAC.
     *
     * @param received the header of the message that this one answers
     */
    encodeMessage: (message: Message, received?: Buffer): Buffer | Promise<Buffer> =>
      host.requiresMac(message.mti)
        ? encodeWithMac(message, received)
        : frame(host.encode(message), received),
    /** The answer to an empty frame; undefined if the host gets none. */
    emptyFrameAnswer:
      table.framing.emptyFrames === 'Answered' ? encodeFrame(framing, Buffer.alloc(0)) : undefined,
    /**
     * Copies the payload before the HSM call, because it may be a view of a reused buffer.
     *
     * @throws Iso8583Error, or MacError if the MAC is missing or invalid
     */
    decodeMessage: (payload: Buffer): Message | Promise<Message> =>
      table.mac === undefined
        ? host.decode(payload, textErrors, findRequest)
        : decodeAndVerifyMac(Buffer.from(payload)),
    createDeframer: () => createDeframer(framing, { maxBytes: maxFrameBytes }),
    /** False if financial messages require a MAC key and none exists. */
    hasRequiredKeys: () => !host.requiresMac(financialMti) || listMacKeyRefs().length > 0,
  };
}
