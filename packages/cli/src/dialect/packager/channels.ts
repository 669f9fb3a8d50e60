/** The channels of jPOS and the framing that each has. */
import type { HostTable } from '@switchyard/iso8583';
import type { OpenItem } from './import-report.ts';

/** A TPDU with the address 0000, to be replaced by that of the host. */
const tpdu = '6000000000';
const withTpdu = { tpduBytes: 5, tpdu } as const;

type Channel = {
  readonly framing?: HostTable['framing'];
  /** A part of the channel that the table does not have. */
  readonly note?: string;
};

const byHand = 'its framing is not possible in a host table; use a gateway in front of the host';
const replaceTpdu = `the TPDU is ${tpdu}; replace it by that of the host`;

const channels: Readonly<Record<string, Channel>> = {
  ASCII: { framing: { length: 'ascii4' } },
  Amex: { framing: { length: 'binary2', inclusive: true, emptyFrames: 'Answered' } },
  BASE24: { framing: { length: 'none', end: 'ETX' } },
  BASE24TCP: { framing: { length: 'binary2', end: 'ETX', emptyFrames: 'Answered' } },
  BCD: { framing: { length: 'bcd2' } },
  CMF: { framing: { length: 'binary3', emptyFrames: 'Answered' } },
  CS: { framing: { length: 'binary2', afterLength: '0000', emptyFrames: 'Answered' } },
  GICC: { framing: { beforeLength: '0000', length: 'binary2', emptyFrames: 'Answered' } },
  HEX: { framing: { length: 'hex4' } },
  NAC: { framing: { length: 'binary2', ...withTpdu }, note: replaceTpdu },
  NCC: { framing: { length: 'bcd2', ...withTpdu }, note: replaceTpdu },
  Post: { framing: { length: 'binary2' } },
  Raw: { framing: { length: 'binary4' } },
  VAP: {
    framing: { length: 'binary2', afterLength: '0000' },
    note: 'the Visa header in front of each message is missing: add it as header, in hexadecimal digits',
  },
  PAD: { note: byHand },
  RBP: { note: byHand },
  X25: { note: byHand },
  XML: { note: byHand },
};

/** The names of the channels, as in jPOS without the word Channel. */
export const channelNames: readonly string[] = Object.keys(channels);

/** Also `PostChannel` and `org.jpos.iso.channel.PostChannel` name the channel `Post`. */
export function findChannelName(text: string): string | undefined {
  const bareName = text.replace(/^.*\./, '').replace(/Channel$/i, '');
  return channelNames.find((name) => name.toLowerCase() === bareName.toLowerCase());
}

/** The framing of a channel, and the parts to add by hand. */
export function convertChannel(name: string): {
  readonly framing: HostTable['framing'] | undefined;
  readonly openItems: readonly OpenItem[];
} {
  const { framing, note } = channels[name] ?? {};
  const openItems = note === undefined ? [] : [{ subject: `channel ${name}`, reason: note }];
  return { framing, openItems };
}
