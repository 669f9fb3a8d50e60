// Defines the state transitions of an activation, and when a service is active at a level.
import type { ActivationLevel, ActivationState } from '@switchyard/contract';

export type Step = 'request' | 'postpone' | 'accept' | 'refuse' | 'deactivate';

/** The allowed transitions; the server refuses all others. */
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

/** The known facts about one level, from the organisation down to the device. */
export type LevelFacts = {
  readonly level: ActivationLevel;
  readonly entityId: string;
  /** The creation time of the entity, in epoch milliseconds. */
  readonly madeAt: number;
  /** The activation of this entity itself, if one exists. */
  readonly own?: {
    readonly activationId: string;
    readonly status: ActivationState;
    /** The time of the last decision on the status. */
    readonly decidedAt?: number;
    /** The last time at which this activation also activated all existing entities below. */
    readonly coversAt?: number;
  };
};

/**
 * A level is active by its own activation, or because one above it covers existing entities. The
 * later of the two decisions counts.
 */
function isLevelActive({ madeAt, own }: LevelFacts, coveredAt: number | undefined): boolean {
  const isCovered =
    coveredAt !== undefined && madeAt <= coveredAt && (own?.decidedAt ?? 0) <= coveredAt;
  return isCovered || own?.status === 'Active';
}

/** Evaluates the levels from the top; an inactive level does not hide the state of those below. */
export function standingOf(levels: readonly LevelFacts[]): (LevelFacts & { active: boolean })[] {
  let coveredAt: number | undefined;
  return levels.map((facts) => {
    const active = isLevelActive(facts, coveredAt);
    const own = facts.own?.coversAt;
    if (own !== undefined && (coveredAt === undefined || own > coveredAt)) coveredAt = own;
    return { ...facts, active };
  });
}
