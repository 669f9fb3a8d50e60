// How an activation moves from state to state, and when a service counts as active at a level.
import type { ActivationLevel, ActivationState } from '@switchyard/contract';

export type Step = 'request' | 'postpone' | 'accept' | 'refuse' | 'deactivate';

/** Who may go where; what is missing here is refused. */
const steps: Readonly<Record<Step, Partial<Record<ActivationState, ActivationState>>>> = {
  request: { Refused: 'Requested', Inactive: 'Requested' },
  postpone: { Requested: 'Pending', Pending: 'Pending' },
  accept: { Requested: 'Active', Pending: 'Active' },
  refuse: { Requested: 'Refused', Pending: 'Refused' },
  deactivate: {
    Requested: 'Inactive',
    Pending: 'Inactive',
    Active: 'Inactive',
    Refused: 'Inactive',
    Inactive: 'Inactive',
  },
};

export function nextState(state: ActivationState, step: Step): ActivationState | undefined {
  return steps[step][state];
}

/** What is known of one level, from the organisation down to the device. */
export type LevelFacts = {
  readonly level: ActivationLevel;
  readonly entityId: string;
  /** When the entity was made, epoch milliseconds. */
  readonly madeAt: number;
  /** Its own activation, where somebody decided about this very entity. */
  readonly own?: {
    readonly activationId: string;
    readonly status: ActivationState;
    /** When its status was last decided. */
    readonly decidedAt?: number;
    /** When it last made active all that stood below. */
    readonly coversAt?: number;
  };
};

/**
 * A level is active by its own activation, or because it stood below one that took along what there
 * was; of the two the later one counts.
 */
function isLevelActive({ madeAt, own }: LevelFacts, coveredAt: number | undefined): boolean {
  const isCovered =
    coveredAt !== undefined && madeAt <= coveredAt && (own?.decidedAt ?? 0) <= coveredAt;
  return isCovered || own?.status === 'Active';
}

/** Level by level, from the top: a level that is off does not hide how those below stand. */
export function standingOf(levels: readonly LevelFacts[]): (LevelFacts & { active: boolean })[] {
  let coveredAt: number | undefined;
  return levels.map((facts) => {
    const active = isLevelActive(facts, coveredAt);
    const own = facts.own?.coversAt;
    if (own !== undefined && (coveredAt === undefined || own > coveredAt)) coveredAt = own;
    return { ...facts, active };
  });
}
