/** A state as a word and a tone. The word says it all: the tone helps whoever sees colours. */
import type { ReactNode } from 'react';
import './state-badge.css';

export type Tone = 'good' | 'warn' | 'bad' | 'plain' | 'busy';

/** States of payments, deliveries, users, devices: what each means to somebody who watches. */
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

export function toneOf(state: string): Tone {
  return Object.hasOwn(tones, state) ? (tones[state] ?? 'plain') : 'plain';
}

export function StateBadge({
  state,
  children,
  tone = toneOf(state),
}: {
  readonly state: string;
  /** The word in the language of the user; without it the state itself is shown. */
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
