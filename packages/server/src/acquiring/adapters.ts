// One line for each kind of acquirer: forgetting it does not compile.
import { connectIso8583Host } from './iso8583-host/index.ts';
import type { AcquirerLink } from './types.ts';

export const adapters = {
  'iso8583-host': connectIso8583Host,
} as const satisfies Record<AcquirerLink['adapter'], unknown>;
