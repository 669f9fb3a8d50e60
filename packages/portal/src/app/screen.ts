/** A screen of the portal: its path, the users that may open it, and the file that renders it. */
import type { ComponentType } from 'react';
import type { ScreenAccess } from './screen-access.ts';

export type Screen = ScreenAccess & {
  /** In the syntax of TanStack Router: `/payments/$transactionId`. */
  readonly path: string;
  readonly load: () => Promise<{ readonly default: ComponentType }>;
};
