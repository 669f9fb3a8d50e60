// What `bench relay` says to the processes that play devices and points of sale.
import type { Target } from './relay-socket.ts';

/** How devices and points of sale come to the platform; a bare server asks nothing of the kind. */
export type PlatformTarget = {
  readonly kind: 'platform';
  readonly target: Target;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Of a point of sale. */
  readonly token: string;
};
export type BaselineTarget = { readonly kind: 'bare'; readonly target: Target };
export type RelayServer = PlatformTarget | BaselineTarget;

export type ToRelayClients =
  /** Pairs that stay open, under a name. */
  | { type: 'open'; name: string; server: RelayServer; tsns: readonly string[] }
  | { type: 'run'; name: string; pairs: number; bytes: number; seconds: number }
  /** Offers so many bytes to a device, or a point of sale, that does not read. */
  | { type: 'flood'; name: string; bytes: number; reader: 'device' | 'pos' }
  /** Devices that come back whenever they are cut off. */
  | { type: 'connect'; server: PlatformTarget; tsns: readonly string[] }
  | { type: 'count' }
  | { type: 'claim'; server: PlatformTarget; ratePerSecond: number; seconds: number; seed: number };

export type RunResult = { roundTripsPerSecond: number; p50Us: number; p99Us: number };
export type ClaimResult = {
  claims: number;
  p50Us: number;
  p99Us: number;
  maxUs: number;
  errors: Record<string, number>;
};

export type FromRelayClients =
  | { type: 'opened'; seconds: number }
  | { type: 'ran'; result: RunResult }
  | { type: 'flooded'; accepted: number; code: number }
  | { type: 'connected'; seconds: number }
  /** `lastAt`: when the last of them came, epoch milliseconds. */
  | { type: 'counted'; open: number; lastAt: number; failures: Record<string, number> }
  | { type: 'claimed'; result: ClaimResult }
  | { type: 'fault'; text: string };
