// The first three tables of the platform: 1987 packed and in characters, and 1993.

import { actionCodes } from '@switchyard/contract';
import type { DialectTable } from '../dialect-table.ts';
import { variable } from '../dialects/field-formats.ts';
import { iso1987Ascii, iso1987BinaryEmv } from '../dialects/iso1987.ts';
import { iso1993Ascii } from '../dialects/iso1993.ts';
import { defaultCorrelation } from './correlation.ts';
import type { HostTable } from './host-table.ts';
import { defaultRetrievalReference, defaultTraceNumber } from './reference-numbers.ts';

/** The members that hosts of 1987 have in common; they are those of canonical messages. */
const iso1987 = {
  correlation: defaultCorrelation,
  traceNumber: defaultTraceNumber,
  retrievalReference: defaultRetrievalReference,
  version: '0',
  localTime: 'TimeAndDate',
  pan: 'Always',
  originalData: {
    field: 90,
    layout: 'type:4 stan:6 sent:10 institution:11 zeros:11',
    time: 'Transmission',
  },
  replacement: { field: 95, layout: 'remaining:12 zeros:30', amountIs: 'Reversed' },
  network: {
    field: 70,
    codes: { signOn: '001', signOff: '002', echo: '301', keyChange: '101', keyRequest: '161' },
  },
  keyChange: { field: 48, layout: 'usage:1 algorithm:1 index:2 check:6 wrapped:*' },
  securityControl: 'format:2 index:2 zeros:12',
} as const;

/** With bytes in field 55: the standard is older than EMV, and hosts send chip data as bytes. */
const asciiWithChip: DialectTable = {
  ...iso1987Ascii,
  name: 'ISO 8583:1987 ASCII with chip data',
  fields: {
    ...iso1987Ascii.fields,
    55: { ...variable('LLL', 'tlv', 255, 'Integrated circuit card data'), encoding: 'raw' },
  },
};

/** ISO 8583:1993, A.3: capabilities, presence, card data input, cardholder authentication. */
// The fifth digit of a remote order states that the cardholder is absent, by mail or telephone.
const posDataCodes = {
  '051': '510101511344',
  '071': 'A10101A11344',
  '901': '510101211344',
  '911': 'A10101B11344',
  '801': '510101911344',
  '011': '510101611344',
  '012': '600110600340',
} as const;

/**
 * The hosts that are built in, by name.
 *
 * @example
 * ```ts
 * const host = compileHost(builtInHosts['iso1987-binary'], { now: Date.now });
 * ```
 */
export const builtInHosts = {
  'iso1987-binary': {
    ...iso1987,
    name: 'iso1987-binary',
    description:
      'ISO 8583:1987 with packed digits and binary fields; the messages of the platform before a table applies',
    messages: iso1987BinaryEmv,
    framing: { length: 'binary2' },
  },
  'iso1987-ascii': {
    ...iso1987,
    name: 'iso1987-ascii',
    description: 'ISO 8583:1987 in characters',
    messages: asciiWithChip,
    framing: { length: 'ascii4' },
  },
  'iso1993-ascii': {
    ...iso1987,
    name: 'iso1993-ascii',
    description: 'ISO 8583:1993 in characters, with action codes and function codes',
    messages: iso1993Ascii,
    framing: { length: 'binary2' },
    version: '1',
    localTime: 'DateTime',
    pan: 'WithoutTrack2',
    functionCodes: {
      '0100': '100',
      '0200': '200',
      '0220': '201',
      '0220 offline': '200',
      '0420': '400',
      '0420 partial': '401',
    },
    entryModes: posDataCodes,
    // 1800 to 1999 are for private use.
    conditions: { '00': '1800', '06': '1806', '08': '1808', '51': '1851' },
    reversalReasons: {
      field: 25,
      codes: {
        '4000': '4000',
        '4004': '4004',
        '4007': '4007',
        '4020': '4020',
        '4021': '4021',
        '4351': '4351',
      },
      otherwise: '4000',
    },
    responseCodes: {
      financial: actionCodes,
      reversal: { '400': '00' },
      network: { '800': '00' },
    },
    originalData: {
      field: 56,
      layout: 'type:4 stan:6 sent:12 institution:LL',
      time: 'Local',
    },
    replacement: { field: 30, layout: 'before:12 zeros:12', amountIs: 'Remaining' },
    network: {
      field: 24,
      codes: { signOn: '801', signOff: '802', echo: '831', keyChange: '811', keyRequest: '812' },
    },
  },
} as const satisfies { readonly [name: string]: HostTable };
