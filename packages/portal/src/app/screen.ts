/** A screen of the portal: its path, the users that may open it, and the file that renders it. */
import type { ComponentType } from 'react';
import type { Access } from './screen-access.ts';

export type Screen = Access & {
  /** After TanStack Router: `/payments/$transactionId`. */
  readonly path: string;
  readonly load: () => Promise<{ readonly default: ComponentType }>;
};
