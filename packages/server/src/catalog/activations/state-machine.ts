// Defines the state transitions of an activation, and when a service is active at a level.
import type { ActivationLevel, ActivationState } from '@switchyard/contract';

export type ActivationStep = 'request' | 'postpone' | 'accept' | 'refuse' | 'deactivate';

/** The allowed transitions; the server refuses all others. */
const transitions: Readonly<
  Record<ActivationStep, Partial<Record<ActivationState, ActivationState>>>
> = {
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

export function nextState(
  state: ActivationState,
  step: ActivationStep,
): ActivationState | undefined {
  return transitions[step][state];
}

/** The known facts about one level, from the organisation down to the device. */
export type LevelActivation = {
  readonly level: ActivationLevel;
  readonly entityId: string;
  /** The creation time of the entity, in epoch milliseconds. */
  readonly createdAt: number;
  /** The activation of this entity itself, if one exists. */
  readonly activation?: {
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
function isLevelActive(
  { createdAt, activation }: LevelActivation,
  coveredAt: number | undefined,
): boolean {
  const isCovered =
    coveredAt !== undefined && createdAt <= coveredAt && (activation?.decidedAt ?? 0) <= coveredAt;
  return isCovered || activation?.status === 'Active';
}

/** Evaluates the levels from the top; an inactive level does not hide the state of those below. */
export function evaluateLevels(
  levels: readonly LevelActivation[],
): (LevelActivation & { active: boolean })[] {
  let coveredAt: number | undefined;
  return levels.map((level) => {
    const active = isLevelActive(level, coveredAt);
    const levelCoversAt = level.activation?.coversAt;
    if (levelCoversAt !== undefined && (coveredAt === undefined || levelCoversAt > coveredAt))
      coveredAt = levelCoversAt;
    return { ...level, active };
  });
}
