/** The format of a field as people write it: `n 12, BCD`, `ans ..999, LLLVAR`. */
import type { FieldFormat, HostTable } from '@switchyard/iso8583';

const encodingNames: Readonly<Record<string, string>> = {
  ascii: 'ASCII',
  ebcdic: 'EBCDIC',
  ebcdic1047: 'EBCDIC 1047',
  ebcdic500: 'EBCDIC 500',
  bcd: 'BCD',
  raw: 'bytes',
  zoned: 'zoned decimal',
  hex: 'hexadecimal',
  hexAscii: 'hexadecimal ASCII',
  hexEbcdic: 'hexadecimal EBCDIC',
};

export function describeFormat(field: FieldFormat, table: HostTable['messages']): string {
  const { content, size, max, encoding } = field;
  const isBytes = content === 'b' || content === 'tlv';
  const isText = content === 'an' || content === 'ans';
  const used = encoding ?? (isBytes ? table.binaries : isText ? table.text : table.numerics);
  const length = size === 'fixed' ? `${max}` : `..${max} ${size}VAR`;
  return `${content} ${length}, ${encodingNames[used]}`;
}
