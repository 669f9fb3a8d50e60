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

export type AcquirerRequestKind = 'Authorization' | 'Sale' | 'Capture' | 'Refund' | 'Reversal';

export type EntryMode =
  | 'ContactChip'
  | 'ContactlessChip'
  | 'MagStripe'
  | 'ContactlessMagStripe'
  | 'FallbackMagStripe'
  | 'Keyed';

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
  sensitive?: { track2?: string; securityCode?: string };
  /** By mail or telephone. */
  isRemoteOrder?: boolean;
  /** What the issuer compares with the cardholder's address; letters, digits and nothing else. */
  addressCheck?: { postalCode: string; houseNumber: string };
  panSequence?: string;
  /** The tags that may go into DE55, hex. */
  chipData?: string;
  authorizationCode?: string;
  /** The message that this one captures, refunds or reverses. */
  original?: AcquirerReference;
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
  | { outcome: 'Declined'; responseCode: string; issuerData?: string; addressResult?: string }
  | { outcome: 'NotSent'; reason: string }
  | { outcome: 'Unknown'; reason: UnknownReason };

export type LateAnswer = {
  organizationId: string;
  transactionId: string;
  kind: AcquirerRequestKind;
  responseCode: string;
};

/** Where and how an acquirer is reached. */
export type AcquirerLink = {
  organizationId: string;
  linkId: string;
  name: string;
  adapter: 'iso8583-host';
  settings: {
    host: string;
    port: number;
    /** Required for any host beyond loopback. */
    tls?: boolean;
    /** DE32. */
    institutionId: string;
  };
};

/** One attached acquirer. Adapters keep no rows and know no HTTP. */
export type AcquirerConnection = {
  /** False while nothing can be sent: not connected or not signed on. */
  available(): boolean;
  /**
   * Sends one message and tells its outcome; never throws for what the outside world does.
   * `onSent` is called once bytes may have left.
   */
  send(request: AcquirerRequest, onSent?: () => void): Promise<AcquirerOutcome>;
  /** Takes no more, waits for what is in flight as long as an answer may take, then hangs up. */
  close(): Promise<void>;
};
