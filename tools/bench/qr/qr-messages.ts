// The messages between the bench and its process of terminals.

/** A payment, and the token of the terminal that waits for it. */
export type QrWait = { transactionId: string; token: string };

export type ToQrTerminals =
  | {
      type: 'open';
      server: { host: string; port: number; ca: string; authority: string };
      waits: QrWait[];
    }
  | {
      type: 'tell';
      ratePerSecond: number;
      ids: string[];
      /** So many of the first are not counted. */
      lead: number;
      token: string;
      seed: number;
    }
  | { type: 'count' };

export type EventDelayResult = {
  delivered: number;
  perSecond: number;
  /** From the moment at which the provider's event was due to its arrival at the terminal. */
  p50Us: number;
  p99Us: number;
  maxUs: number;
  /** From the same moment to the acknowledgement that the provider gets. */
  acknowledgedP99Us: number;
  errors: Record<string, number>;
};

export type FromQrTerminals =
  | { type: 'opened'; open: number; seconds: number }
  | { type: 'counted'; open: number; lost: number }
  | { type: 'told'; result: EventDelayResult }
  | { type: 'fault'; text: string };
