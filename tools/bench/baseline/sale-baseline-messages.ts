// What the bench and the process of the bare line say to each other.
export type ToSaleBaseline =
  | { type: 'open'; url: string }
  | { type: 'run'; callers: number; seconds: number };

export type FromSaleBaseline =
  | { type: 'ready' }
  | { type: 'result'; salesPerSecond: number }
  | { type: 'fault'; text: string };
