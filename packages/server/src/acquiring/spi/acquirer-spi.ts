// The adapter interface: requests to an acquirer, outcomes, links and connections.
import type { EntryMode, SpiPayment, SpiReversal } from '@switchyard/contract';
import type { CompiledHost, HostTable, Message } from '@switchyard/iso8583';
import {
  type AddressGuard,
  type Clock,
  isLoopbackHost,
  type Log,
  pause,
  type Span,
} from '../../platform/index.ts';

/** Identifies one message at the acquirer, for repeats, reversals and lookups. */
export type AcquirerReference = {
  mti: string;
  terminalId: string;
  /** Systems trace audit number, as many digits as the host table says (DE11). */
  stan: string;
  /** Retrieval reference number (DE37). */
  rrn: string;
  /** The host assigned the retrieval reference number in its response. */
  rrnAssignedBy?: 'Host';
  /** MMDDhhmmss in UTC (DE7). */
  transmittedAt: string;
  /** hhmmss in the store's zone (DE12). */
  localTime: string;
  /** MMDD in the store's zone (DE13). */
  localDate: string;
};

/** `OfflineSale` is an advice (0220) of a sale that the terminal approved offline. */
export type AcquirerRequestKind = SpiPayment['kind'] | 'Capture' | 'Refund' | 'Reversal';

/** Key and PIN block format (ISO 9564-1) for the PIN translation of a link. */
export type ZonePinKey = { keyRef: string; format: 0 | 3 | 4; keyIndex?: string };

/** A PIN block (hex) under the zone PIN key of the link, with format and key index. */
export type AcquirerPin = Omit<ZonePinKey, 'keyRef'> & { block: string };

/** The host table maps it to the code of the host. */
export type AcquirerReversalReason = NonNullable<SpiReversal['reason']>;

export type AcquirerRequest = {
  kind: AcquirerRequestKind;
  /** Repeat message (MTI ending in 1): same reference as the first message. */
  repeat: boolean;
  organizationId: string;
  transactionId: string;
  linkId: string;
  reference: AcquirerReference;
  /** The merchant's number at the acquirer (DE42). */
  merchantNumber: string;
  mcc: string;
  merchantName?: string;
  /** One line. */
  merchantAddress?: string;
  /** The order at the merchant. */
  orderId?: string;
  /** Minor units. */
  amount: number;
  currency: string;
  /** Parts of the amount in minor units; a follow-up message has those of its sale. */
  amounts?: { tip?: number; cashback?: number };
  entryMode: EntryMode;
  card: { pan: string /** YYMM */; expiry: string };
  /** Sensitive authentication data (PCI DSS 3.3): never stored and never repeated. */
  sensitive?: { track2?: string; securityCode?: string; pin?: AcquirerPin };
  /** Mail order or telephone order (MOTO). */
  isRemoteOrder?: boolean;
  /** Address verification (AVS) data: letters and digits only. */
  addressCheck?: { postalCode: string; houseNumber: string };
  panSequence?: string;
  /** EMV tags for DE55, hex. */
  chipData?: string;
  /** For an offline sale: the code from the chip or the terminal. */
  authorizationCode?: string;
  /** RFC 3339 time of the offline approval; only for `OfflineSale`. */
  authorizedAt?: string;
  /** The original message of a capture, refund or reversal, with its amount in minor units. */
  original?: AcquirerReference & { amount?: number };
  reversalReason?: AcquirerReversalReason;
  /** Amount that remains authorised after a partial reversal, minor units (DE95). */
  remainingAmount?: number;
  /** Final capture: the acquirer releases the remaining authorisation. */
  final?: boolean;
};

type UnknownReason = 'Timeout' | 'ConnectionLost' | 'InvalidResponse';

export type ExchangeResult<Response> =
  | { result: 'Responded'; response: Response }
  | { result: 'NotSent'; reason: string }
  | { result: UnknownReason };

/** The host table cannot encode the message: a repetition cannot succeed. */
export const unencodableReason = 'not encodable';

/** Data of a response that decides nothing; `balance` in minor units. */
export type AcquirerData = { receiptText?: string; networkReference?: string; balance?: number };

/** After `Unknown` the transaction may be posted; after `NotSent` it is not. */
export type AcquirerOutcome =
  | {
      outcome: 'Approved';
      responseCode: string;
      authorizationCode?: string;
      /** Approved amount in minor units; less than requested for a partial approval. */
      amount: number;
      issuerData?: string;
      /** AVS result letter. */
      addressResult?: string;
      acquirerData?: AcquirerData;
      /** The number that the host assigned (DE37). */
      retrievalReference?: string;
    }
  | {
      outcome: 'Declined';
      responseCode: string;
      /** The acquirer states the decline explicitly, also with an unknown response code. */
      isExplicitDecline?: true;
      issuerData?: string;
      addressResult?: string;
      acquirerData?: AcquirerData;
      retrievalReference?: string;
    }
  | { outcome: 'NotSent'; reason: string }
  | { outcome: 'Unknown'; reason: UnknownReason };

/** The response does not match the request or is malformed. */
export const invalidResponse: AcquirerOutcome = { outcome: 'Unknown', reason: 'InvalidResponse' };

export type LateResponse = Pick<AcquirerRequest, 'organizationId' | 'transactionId' | 'kind'> & {
  responseCode: string;
  /** The number that the host assigned (DE37). */
  retrievalReference?: string;
};

type LinkWithAdapter<Adapter extends string, Settings> = {
  organizationId: string;
  linkId: string;
  name: string;
  adapter: Adapter;
  settings: Settings & {
    host: string;
    port: number;
    /** Required for any host beyond loopback. */
    tls?: boolean;
    /** Name of the TLS client certificate for the acquirer. */
    clientCertificate?: string;
    /** Institution id of the platform at the acquirer (DE32). */
    institutionId: string;
    zonePinKey?: ZonePinKey;
  };
  /** The link is disabled or removed: it accepts no new sales and completes pending ones. */
  isDraining?: boolean;
};

export type Iso8583HostLink = LinkWithAdapter<
  'iso8583-host',
  {
    /** Name of the host table; default `iso1987-binary`. */
    dialect?: string;
    /** Number of connections; default 1. */
    connections?: number;
    /** TPDU of each message, hexadecimal; default from the host table. */
    tpdu?: string;
    macKey?: { keyRef: string };
    /** The host encrypts new zone keys under this key. */
    zoneMasterKey?: { keyRef: string };
  }
>;

export type HttpJsonLink = LinkWithAdapter<
  'http-json',
  {
    /** Path prefix of the SPI, such as `/switchyard`. */
    path?: string;
    /** Public Ed25519 keys of the acquirer (JWK `x`); two during key rotation. */
    acquirerKeys: readonly string[];
    /** Version of the platform's signing key; incremented for key rotation. */
    keyVersion: number;
  }
>;

export type AcquirerLink = Iso8583HostLink | HttpJsonLink;

/** TLS client certificate, private key and trusted CA; without `ca` the default CAs of Node.js apply. */
export type TlsIdentity = { readonly cert: string; readonly key: string; readonly ca?: string };

export type ConnectionPorts = {
  tlsIdentity?: TlsIdentity | undefined;
  timeoutMs: number;
  clock: Clock;
  log: Log;
  /** Checks the address of the link at each connection. */
  addressGuard: AddressGuard;
  onLateResponse(late: LateResponse): void;
  onAvailabilityChange?(available: boolean): void;
  /** Receives each message of a host in clear, for a certification run. */
  onFrame?(frame: TracedFrame): void;
  /** Interval of echo tests of a host; default 60 seconds. */
  echoIntervalMs?: number;
};

/** The bytes of one message on the connection. They contain card data. */
export type TracedFrame = {
  direction: 'Sent' | 'Received';
  /** Length, header and TPDU before the message. */
  header: Buffer;
  message: Buffer;
  /** ETX and check byte after the message; empty if the host has none. */
  trailer: Buffer;
  /** In canonical form; undefined if the message cannot be read, or its code is not valid. */
  canonical?: Message;
};

export type ConnectionStatus = {
  wanted: number;
  signedOn: number;
  /** Why a connection is not signed on. */
  lastFault?: string;
};

/** How the numbers of messages are written (DE11, DE37). */
export type NumberFormats = Pick<HostTable, 'traceNumber'> &
  Pick<CompiledHost, 'formatRetrievalReference'>;

/** A connected acquirer. Adapters do not access the database. */
export type AcquirerConnection = {
  /** Undefined for the formats of the canonical messages. */
  numberFormats?: NumberFormats;
  /** False while the link is not connected or not signed on. */
  isAvailable(): boolean;
  /** Configured and signed-on connections; undefined for adapters without persistent connections. */
  getConnections?(): ConnectionStatus;
  /** Requests new keys, and returns the response code; undefined without a response. */
  requestKeys?(): Promise<string | undefined>;
  /** Undefined if the acquirer accepts no online PIN. */
  getZonePinKey?(): ZonePinKey | undefined;
  /**
   * Sends one message and returns its outcome; network and host errors never throw.
   * `onPossiblySent` is called once bytes may have been sent. `span` is that of the exchange.
   */
  send(
    request: AcquirerRequest,
    onPossiblySent?: () => void,
    span?: Span,
  ): Promise<AcquirerOutcome>;
  /** Rejects new messages, waits for pending responses up to the time-out, then disconnects. */
  close(): Promise<void>;
};

/** JSON Pointer (RFC 6901) of the invalid member, and the reason. */
export type LinkConfigurationError = { readonly pointer: string; readonly detail: string };

/** A setting prevents the opening of a link. The API returns the message to the administrator. */
export class InvalidLinkSettingError extends Error {
  override name = 'InvalidLinkSettingError';
  readonly pointer: string;

  constructor(pointer: string, detail: string) {
    super(detail);
    this.pointer = pointer;
  }
}

/** @throws Error if the host is not on loopback and TLS is off */
export function requireTls({ name, settings: { tls, host } }: AcquirerLink): void {
  if (tls !== true && !isLoopbackHost(host))
    throw new Error(`The acquirer link ${name} requires TLS, because its host is not on loopback.`);
}

const drainPollIntervalMs = 20;

/** Waits until `isIdle` returns true, at most `withinMs`. */
export async function drain(isIdle: () => boolean, withinMs: number): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (!isIdle() && performance.now() < deadline) await pause(drainPollIntervalMs);
}
