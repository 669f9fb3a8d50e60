// What the bench of webhooks and its receivers and bare line say to each other.

export type ToReceiver = { type: 'open'; good: number } | { type: 'take' };

/** Of the receivers that are well, since the last request for counts. */
export type ReceivedCounts = {
  count: number;
  /** From the time of the event to its arrival, µs. */
  p50Us: number;
  p99Us: number;
  maxUs: number;
};

export type FromReceiver =
  | { type: 'ready'; good: number[]; slow: number; dead: number }
  | { type: 'taken'; counts: ReceivedCounts };

export type ToWebhookBaseline =
  | { type: 'open'; url: string; ports: number[]; body: string }
  | { type: 'run'; seconds: number };

export type FromWebhookBaseline =
  | { type: 'ready' }
  | { type: 'result'; perSecond: number }
  | { type: 'fault'; text: string };

export type WebhookStep = ReceivedCounts & {
  ratePerSecond: number;
  seconds: number;
  /** How long after the last event the last delivery came. */
  behindMs: number;
  missing: number;
  /** CPU time for each delivery, µs. */
  cpuUs: Record<'server' | 'postgres' | 'receiver', number>;
  busyShare: number;
  othersShare: number;
  /** Age of the oldest row of the outbox, second by second. */
  outboxAgesMs: number[];
};
