/** A status as text with a colour. The text alone has the complete meaning. */
import type { ReactNode } from 'react';
import './state-badge.css';

export type Tone = 'good' | 'warn' | 'bad' | 'plain' | 'busy';

/** The colours of the states of payments, deliveries, users and devices. */
const tones: Readonly<Record<string, Tone>> = {
  Captured: 'good',
  Completed: 'good',
  Settled: 'good',
  Succeeded: 'good',
  Active: 'good',
  Enabled: 'good',
  PendingApproval: 'warn',
  activated: 'good',
  Delivered: 'good',
  Approved: 'good',
  Matched: 'good',
  Online: 'good',
  Authorized: 'busy',
  PartiallyCaptured: 'busy',
  Received: 'busy',
  Stored: 'busy',
  Created: 'busy',
  Scanned: 'busy',
  Running: 'busy',
  Queued: 'busy',
  Pending: 'warn',
  Unanswered: 'warn',
  Reversing: 'warn',
  PartiallyRefunded: 'warn',
  Held: 'warn',
  Expiring: 'warn',
  Declined: 'bad',
  Failed: 'bad',
  Rejected: 'bad',
  Revoked: 'bad',
  Faulty: 'bad',
  deactivated: 'plain',
};

export function toneOfState(state: string): Tone {
  return Object.hasOwn(tones, state) ? (tones[state] ?? 'plain') : 'plain';
}

export function StateBadge({
  state,
  children,
  tone = toneOfState(state),
}: {
  readonly state: string;
  /** The translated text. The default is the state itself. */
  readonly children?: ReactNode;
  readonly tone?: Tone;
}) {
  return (
    <span className="sy-badge" data-tone={tone}>
      <span className="sy-badge-dot" aria-hidden="true" />
      {children ?? state}
    </span>
  );
}
