// What the platform asks of an acquirer and what it may be told: the acquirer SPI.

/** Names one message at the acquirer so that it can be repeated, reversed and found again. */
export type AcquirerReference = {
  mti: string;
  terminalId: string;
  /** Systems trace audit number, six digits (DE11). */
  stan: string;
  /** Retrieval reference number, twelve characters (DE37). */
  rrn: string;
  /** MMDDhhmmss in UTC (DE7). */
  transmittedAt: string;
  /** hhmmss in the store's zone (DE12). */
  localTime: string;
  /** MMDD in the store's zone (DE13). */
  localDate: string;
};

/** `OfflineSale` tells of a sale that the terminal has approved: an advice, and no question. */
export type AcquirerRequestKind =
  | 'Authorization'
  | 'Sale'
  | 'OfflineSale'
  | 'Capture'
  | 'Refund'
  | 'Reversal';

export type EntryMode =
  | 'ContactChip'
  | 'ContactlessChip'
  | 'MagStripe'
  | 'ContactlessMagStripe'
  | 'FallbackMagStripe'
  | 'Keyed';

/** A PIN block under the zone key of the link: hex, and what the host must know to open it. */
export type AcquirerPin = { block: string; format: ZonePinFormat; keyIndex?: string };

/** The formats that a zone key may carry, ISO 9564-1. */
export type ZonePinFormat = 0 | 3 | 4;

/** Which key, and how, the PIN of a sale is encrypted for a link. */
export type ZonePinKey = { keyRef: string; format: ZonePinFormat; keyIndex?: string };

/** Why something is taken back, in words that a host's table turns into its code. */
export type AcquirerReversalReason =
  | 'Timeout'
  | 'InvalidResponse'
  | 'CustomerCancel'
  | 'ChipDeclined'
  | 'CardRemoved'
  | 'Suspect';

export type AcquirerRequest = {
  kind: AcquirerRequestKind;
  /** The same message once more: the same reference, the message type's repeat digit. */
  repeat: boolean;
  organizationId: string;
  transactionId: string;
  linkId: string;
  reference: AcquirerReference;
  /** The merchant's number at the acquirer (DE42). */
  merchantNumber: string;
  mcc: string;
  /** Minor units. */
  amount: number;
  currency: string;
  /** Parts of the amount, of a follower those of its sale, minor units. */
  amounts?: { tip?: number; cashback?: number };
  entryMode: EntryMode;
  card: { pan: string /** YYMM */; expiry: string };
  /** Sent to the acquirer and forgotten: neither stored nor repeated. */
  sensitive?: { track2?: string; securityCode?: string; pin?: AcquirerPin };
  /** By mail or telephone. */
  isRemoteOrder?: boolean;
  /** What the issuer compares with the cardholder's address; letters, digits and nothing else. */
  addressCheck?: { postalCode: string; houseNumber: string };
  panSequence?: string;
  /** The tags that may go into DE55, hex. */
  chipData?: string;
  /** Of an offline sale that which chip or terminal gave. */
  authorizationCode?: string;
  /** RFC 3339: when the terminal approved an offline sale, and of that one alone. */
  authorizedAt?: string;
  /** The message that this one captures, refunds or reverses. */
  original?: AcquirerReference;
  /** Of a reversal alone. */
  reversalReason?: AcquirerReversalReason;
  /** What stays authorised after a partial cancel, minor units (DE95). */
  remainingAmount?: number;
  /** A capture after which the rest of the hold is given back. */
  final?: boolean;
};

export type UnknownReason = 'Timeout' | 'ConnectionLost' | 'InvalidResponse';

/** An outcome is a value; `Unknown` may have moved money, `NotSent` has not. */
export type AcquirerOutcome =
  | {
      outcome: 'Approved';
      responseCode: string;
      authorizationCode?: string;
      /** What was approved, minor units; less than asked for a partial approval. */
      amount: number;
      issuerData?: string;
      /** The letter of the address verification. */
      addressResult?: string;
    }
  | {
      outcome: 'Declined';
      responseCode: string;
      /** It is a refusal whatever the code: the acquirer says so beside it. */
      isPlain?: true;
      issuerData?: string;
      addressResult?: string;
    }
  | { outcome: 'NotSent'; reason: string }
  | { outcome: 'Unknown'; reason: UnknownReason };

export type LateAnswer = {
  organizationId: string;
  transactionId: string;
  kind: AcquirerRequestKind;
  responseCode: string;
};

type LinkTo<Adapter extends string, Settings> = {
  organizationId: string;
  linkId: string;
  name: string;
  adapter: Adapter;
  settings: Settings;
  /** Disabled or removed: it takes no sale, and is open for what was begun on it. */
  isFinishing?: boolean;
};

/** An acquirer that speaks ISO 8583. */
export type Iso8583HostLink = LinkTo<
  'iso8583-host',
  {
    host: string;
    port: number;
    /** Required for any host beyond loopback. */
    tls?: boolean;
    /** The name of the certificate that is shown to the host. */
    clientCertificate?: string;
    /** DE32. */
    institutionId: string;
    /** The name of the host's table; the built-in `iso1987-binary` where left out. */
    dialect?: string;
    /** How many connections carry its messages; one where left out. */
    connections?: number;
    /** Ten hexadecimal digits in front of each message, instead of those of the table. */
    tpdu?: string;
    zonePinKey?: ZonePinKey;
    macKey?: { keyRef: string };
    /** New keys come encrypted under this one. */
    zoneMasterKey?: { keyRef: string };
  }
>;

/** An acquirer that speaks HTTP and JSON after the acquirer SPI. */
export type HttpJsonLink = LinkTo<
  'http-json',
  {
    host: string;
    port: number;
    /** Required for any host beyond loopback. */
    tls?: boolean;
    /** The name of the certificate that is shown to the acquirer. */
    clientCertificate?: string;
    /** What the acquirer calls the platform (DE32). */
    institutionId: string;
    /** What stands before the addresses of the SPI, such as `/switchyard`. */
    path?: string;
    /** The acquirer's public keys: the `x` of Ed25519 keys, two while one is changed. */
    acquirerKeys: readonly string[];
    /** Which key of the platform signs; counted up to change it. */
    keyVersion: number;
    /** The zone PIN key shared with the acquirer. */
    zonePinKey?: ZonePinKey;
  }
>;

/** Where and how an acquirer is reached. */
export type AcquirerLink = Iso8583HostLink | HttpJsonLink;

/** One attached acquirer. Adapters keep no rows and know no HTTP. */
export type AcquirerConnection = {
  /** False while nothing can be sent: not connected or not signed on. */
  available(): boolean;
  /** How many connections there should be, and are; left out by what keeps none. */
  connections?(): { wanted: number; signedOn: number };
  /** Left out where the acquirer takes no online PIN. */
  zonePinKey?(): ZonePinKey | undefined;
  /**
   * Sends one message and tells its outcome; never throws for what the outside world does.
   * `onSent` is called once bytes may have left.
   */
  send(request: AcquirerRequest, onSent?: () => void): Promise<AcquirerOutcome>;
  /** Takes no more, waits for what is in flight as long as an answer may take, then hangs up. */
  close(): Promise<void>;
};
