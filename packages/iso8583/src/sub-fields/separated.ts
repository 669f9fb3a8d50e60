// Texts with a separator between them, and the tokens of BASE24.
import type { SeparatedFormat, TokensFormat } from '../dialect-table.ts';
import { Iso8583Error, tableError } from '../errors.ts';
import {
  createPartCollector,
  type PartsCodec,
  type PartsContext,
  requireParts,
  tagOf,
} from './part-reader.ts';

/** @throws Iso8583Error `table_invalid` for an empty separator */
export function compileSeparated(
  { separator, endsWithSeparator = false, parts: partList }: SeparatedFormat,
  { field }: Pick<PartsContext, 'field'>,
): PartsCodec {
  const ids = partList.map(({ id }) => id);
  const partIds = new Set(ids);
  if (separator === '' || partIds.size !== ids.length) {
    throw tableError(field, 'must have a separator, and parts with different ids, in subFields');
  }
  return {
    encode(parts) {
      requireParts(field, parts, partIds);
      const last = ids.findLastIndex((id) => parts[id] !== undefined);
      const values = ids.slice(0, last + 1).map((id) => parts[id] ?? '');
      if (values.some((value) => value.includes(separator))) {
        throw new Iso8583Error('content_invalid', field);
      }
      const text = values.join(separator);
      const hasEnd = endsWithSeparator && values.length > 0;
      return Buffer.from(hasEnd ? text + separator : text, 'latin1');
    },
    decode(bytes) {
      const text = bytes.toString('latin1');
      if (text === '') return {};
      if (endsWithSeparator && !text.endsWith(separator)) {
        throw new Iso8583Error('message_truncated', field, bytes.length);
      }
      const values = text
        .slice(0, endsWithSeparator ? -separator.length : undefined)
        .split(separator);
      if (values.length > ids.length) throw new Iso8583Error('trailing_bytes', field);
      return Object.fromEntries(values.map((value, at) => [ids[at] as string, value]));
    },
  };
}

const tokensHeader = /^& ([0-9]{5})([0-9]{5})/;
const tokenHeader = /^! (.{2})([0-9]{5}) /;
const tokensHeaderLength = 12;
const tokenHeaderLength = 10;
const countDigits = 5;
const countMax = 99_999;

const counter = (count: number) => String(count).padStart(countDigits, '0');

export function compileTokens(
  { parts: formats = {} }: TokensFormat,
  { field }: Pick<PartsContext, 'field'>,
): PartsCodec {
  return {
    encode(parts) {
      const tokens = Object.entries(parts).map(([id, text]) => {
        const value = text.padEnd(formats[tagOf(id)]?.length ?? 0);
        if (tagOf(id).length !== 2) throw new Iso8583Error('field_unknown', field);
        if (value.length > countMax) throw new Iso8583Error('length_exceeded', field);
        return `! ${tagOf(id)}${counter(value.length)} ${value}`;
      });
      const body = tokens.join('');
      const length = tokensHeaderLength + body.length;
      if (length > countMax) throw new Iso8583Error('length_exceeded', field);
      return Buffer.from(`& ${counter(tokens.length + 1)}${counter(length)}${body}`, 'latin1');
    },
    decode(bytes) {
      const text = bytes.toString('latin1');
      if (!tokensHeader.test(text)) throw new Iso8583Error('content_invalid', field, 0);
      const { parts, add } = createPartCollector();
      let at = tokensHeaderLength;
      while (at < text.length) {
        const [, id = '', digits] = tokenHeader.exec(text.slice(at, at + tokenHeaderLength)) ?? [];
        const start = at + tokenHeaderLength;
        const end = start + Number(digits);
        if (digits === undefined) throw new Iso8583Error('content_invalid', field, at);
        if (end > text.length) throw new Iso8583Error('message_truncated', field, at);
        add(id, text.slice(start, end));
        at = end;
      }
      return parts;
    },
  };
}
