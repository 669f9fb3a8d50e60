// The members of a host table: framing, fields, codes, and layouts of fields.

import type { DialectTable } from '../dialect-table.ts';
import type { Contents } from './field-content.ts';
import type {
  CorrelationSettings,
  FramingSettings,
  RetrievalReferenceSettings,
  TraceNumberSettings,
} from './host-settings.ts';
import type { Operations, RepeatIndicator } from './operation-settings.ts';

/** A function of network management (DE70 in 1987). */
export type NetworkFunction = 'signOn' | 'signOff' | 'echo' | 'keyChange' | 'keyRequest';

/** The field of the message authentication code, and the bytes that it covers. */
export type MacSettings = {
  readonly algorithm: 'AesCmac' | 'Iso9797Alg3';
  /** `Last`: DE128 if the message has a second bitmap, otherwise DE64. */
  readonly place: 'Last' | 64 | 128;
  /** `BeforeField`: the bytes before the code. `WholeMessage`: all bytes, with zeros as code. */
  readonly over: 'BeforeField' | 'WholeMessage';
  /** Whether network messages, such as sign-on and echo test, also have it. */
  readonly messages: 'Financial' | 'All';
};

/** Response codes of the host by the two characters that they mean, for each kind of message. */
export type HostResponseCodes = {
  readonly financial: { readonly [code: string]: string };
  readonly reversal?: { readonly [code: string]: string };
  readonly network?: { readonly [code: string]: string };
};

/**
 * A host as data. The caller writes messages in the canonical form of ISO 8583:1987; the table
 * contains the differences of the host. Members that a table omits stay canonical.
 *
 * A layout is a text such as `type:4 stan:6 sent:10 institution:11 zeros:11`: the parts of a value
 * with their lengths, `LL` or `LLL` for a part after its own length, `*` for the rest.
 */
export type HostTable = {
  /** As links name it: letters, digits and hyphens. */
  readonly name: string;
  /** The style of hosts that the table is for, in one line. */
  readonly description?: string;
  /** The encodings of a message and the formats of its fields. */
  readonly messages: DialectTable;
  /** How messages are delimited, and the header in front of them. */
  readonly framing: FramingSettings;
  /** Which fields assign a response to its request, and which a response has to repeat. */
  readonly correlation: CorrelationSettings;
  /** DE11. */
  readonly traceNumber: TraceNumberSettings;
  /** DE37. */
  readonly retrievalReference: RetrievalReferenceSettings;
  /** The first digit of message types: 0 of 1987, 1 of 1993, 2 of 2003. */
  readonly version: '0' | '1' | '2';
  /** `DateTime`: DE12 holds YYMMDDhhmmss, and there is no DE13 (1993). `LongDateTime`: it begins with the century (2003). */
  readonly localTime: 'TimeAndDate' | 'DateTime' | 'LongDateTime';
  /** `WithCurrency`: DE4 begins with the currency and its number of decimals, and there is no DE49 (2003). */
  readonly amountFormat?: 'WithCurrency';
  /** `WithoutTrack2`: a message has DE2 only if it has no DE35. */
  readonly pan: 'Always' | 'WithoutTrack2';
  /**
   * DE24 by canonical message type; `0420 partial` for a reversal of a part, `0220 offline` for a
   * sale that the terminal approved (1993).
   */
  readonly functionCodes?: { readonly [type: string]: string };
  /** DE22 of the host by the canonical one. */
  readonly entryModes?: { readonly [canonical: string]: string };
  /**
   * DE25 of the host by the canonical one: 00 normal, 06 more to come, 08 mail or telephone, 51
   * verification. A capture has 00 (final) or 06, also of a mail or telephone order (DE22 012).
   */
  readonly conditions?: { readonly [canonical: string]: string };
  /**
   * The field of the reason of a reversal, and its codes: 4000 customer, 4020 answer, 4021
   * time-out, 4351 chip …
   */
  readonly reversalReasons?: {
    readonly field: number;
    readonly codes: { readonly [reason: string]: string };
    /** For reasons that have no code of their own. */
    readonly otherwise: string;
  };
  readonly responseCodes?: HostResponseCodes;
  /** Message type and processing code of each operation; a missing one has the canonical message. */
  readonly operations?: Operations;
  readonly repeatIndicator?: RepeatIndicator;
  /** Fields of payments that are built from payment data. */
  readonly contents?: Contents;
  /** Fields of responses with data for the platform. */
  readonly responseContents?: Contents;
  /**
   * Parts `type stan sent institution rrn approval date time terminal amount zeros`; the member `time` states
   * whether `sent` is DE7 or DE12 and 13. Without it, other fields identify the original.
   */
  readonly originalData?: {
    readonly field: number;
    readonly layout: string;
    readonly time: 'Transmission' | 'Local';
  };
  /**
   * The remaining amount of a partial reversal. Parts `remaining before currency decimals zeros`.
   * With `amountIs: "Remaining"` DE4 has the remaining amount, otherwise the reversed amount.
   */
  readonly replacement: {
    readonly field: number;
    readonly layout: string;
    readonly amountIs: 'Reversed' | 'Remaining';
  };
  readonly network: {
    readonly field: number;
    readonly codes: { readonly [name in NetworkFunction]: string };
    /** What signs on before payments: each connection (default), each terminal, or nothing. */
    readonly signOnBy?: 'Connection' | 'Terminal' | 'None';
    /** Seconds without a message before an echo test; default 60, `null` for none. */
    readonly echoSeconds?: number | null;
  };
  /** A new key. Parts `usage` (P, M) `algorithm` (T, A) `index check wrapped zeros`. */
  readonly keyChange: { readonly field: number; readonly layout: string };
  /** DE53 beside a PIN. Parts `format index zeros`; without this member there is no DE53. */
  readonly securityControl?: string;
  readonly mac?: MacSettings;
  /** Values by field, in every message to the host. */
  readonly constants?: { readonly [field: number]: string };
  /** Canonical fields that the messages to the host do not have. */
  readonly omit?: readonly number[];
};
