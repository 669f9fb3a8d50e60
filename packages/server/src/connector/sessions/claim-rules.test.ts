import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  type ClaimDecision,
  type ClaimInput,
  decideClaim,
  type SessionPhase,
  type SessionState,
} from './claim-rules.ts';

const quietMs = 150_000;
const now = 1_000_000;

const sessionStateOf = (facts: Partial<SessionState> = {}): SessionState => ({
  owner: 'a',
  phase: 'Open',
  isResumed: false,
  reservedAt: now,
  lastDataAt: now,
  expiresAt: now + 30_000,
  ...facts,
});
const claim = (facts: Partial<ClaimInput> = {}): ClaimInput => ({
  owner: 'a',
  takeOver: false,
  force: false,
  hasResumeToken: false,
  ...facts,
});
const decide = (state: SessionState | undefined, input: ClaimInput) =>
  decideClaim(state, input, now, { takeoverQuietMs: quietMs });

const phases: readonly SessionPhase[] = ['Reserved', 'Open', 'Resumable'];
const booleans = [false, true];
const allClaims = (owner: string) =>
  booleans.flatMap((takeOver) =>
    booleans.flatMap((force) =>
      booleans.map(
        (hasToken): ClaimInput => ({ owner, takeOver, force, hasResumeToken: hasToken }),
      ),
    ),
  );

describe('decisions about the claim of a device', () => {
  it('any claim gets a free device', () => {
    for (const input of allClaims('a'))
      assert.deepEqual(decide(undefined, input), { kind: 'Fresh' });
  });

  // Spec: NEXO-1
  it('a claim of another owner is refused in every phase', () => {
    for (const phase of phases) {
      for (const input of allClaims('b')) {
        const decided = decide(sessionStateOf({ phase }), input);
        assert.deepEqual(
          [decided.kind, 'code' in decided && decided.code],
          ['Refused', 'device_claimed'],
        );
      }
    }
  });

  const cases: readonly [
    string,
    Partial<SessionState>,
    Partial<ClaimInput>,
    ClaimDecision['kind'],
  ][] = [
    ['a second claim of the owner', {}, {}, 'Refused'],
    ['a claim of the owner on what it has reserved', { phase: 'Reserved' }, {}, 'Refused'],
    [
      'a claim of the owner on what nobody has used for a moment',
      { phase: 'Reserved', reservedAt: now - 4_999 },
      {},
      'Refused',
    ],
    [
      'a claim of the owner on what nobody has used for five seconds',
      { phase: 'Reserved', reservedAt: now - 5_000 },
      {},
      'Fresh',
    ],
    [
      'no token on what was resumed and nobody has used for five seconds',
      { phase: 'Reserved', isResumed: true, reservedAt: now - 5_000 },
      {},
      'Fresh',
    ],
    ['a second claim of the owner, of what is open', { reservedAt: now - 5_000 }, {}, 'Refused'],
    ['a token on what was never open', { phase: 'Reserved' }, { hasResumeToken: true }, 'Refused'],
    [
      'a token on what was resumed, and broke again before it was open',
      { phase: 'Reserved', isResumed: true },
      { hasResumeToken: true },
      'Resumed',
    ],
    ['no token on what was resumed', { phase: 'Reserved', isResumed: true }, {}, 'Refused'],
    ['a token after a break', { phase: 'Resumable' }, { hasResumeToken: true }, 'Resumed'],
    ['a token while the former end seems open', {}, { hasResumeToken: true }, 'Resumed'],
    ['the owner without its token, after a break', { phase: 'Resumable' }, {}, 'Fresh'],
    ['a take-over while data flows', {}, { takeOver: true }, 'Refused'],
    ['force alone', {}, { force: true }, 'Refused'],
    ['a take-over by force', {}, { takeOver: true, force: true }, 'TakenOver'],
    ['a take-over in silence', { lastDataAt: now - quietMs }, { takeOver: true }, 'TakenOver'],
    ['a take-over of what is reserved', { phase: 'Reserved' }, { takeOver: true }, 'TakenOver'],
  ];
  for (const [what, state, input, kind] of cases) {
    it(`${what}: ${kind}`, () =>
      assert.equal(decide(sessionStateOf(state), claim(input)).kind, kind));
  }

  it('a refusal contains the retry time, and a takeover records whether it needed force', () => {
    const unused = sessionStateOf({ phase: 'Reserved', reservedAt: now - 2_000 });
    const ownerRefusal = decide(unused, claim());
    assert.equal('retryAfterMs' in ownerRefusal && ownerRefusal.retryAfterMs, 3_000);
    const otherRefusal = decide(unused, claim({ owner: 'b' }));
    assert.equal('retryAfterMs' in otherRefusal && otherRefusal.retryAfterMs, 30_000);
    const resumableRefusal = decide(sessionStateOf({ phase: 'Resumable' }), claim({ owner: 'b' }));
    assert.equal('retryAfterMs' in resumableRefusal && resumableRefusal.retryAfterMs, 30_000);
    const flowing = decide(sessionStateOf({ lastDataAt: now - 50_000 }), claim({ takeOver: true }));
    assert.equal('retryAfterMs' in flowing && flowing.retryAfterMs, 100_000);
    const forced = { takeOver: true, force: true };
    assert.deepEqual(decide(sessionStateOf(), claim(forced)), {
      kind: 'TakenOver',
      isForced: true,
    });
    const silent = sessionStateOf({ lastDataAt: now - quietMs });
    assert.deepEqual(decide(silent, claim(forced)), { kind: 'TakenOver', isForced: false });
  });
});
