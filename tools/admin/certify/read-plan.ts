// Reads a plan, and checks what the schema of a plan cannot express: names that exist, and members that belong to the action.
import {
  type DocumentPath,
  readCheckedDocument,
} from '../../../packages/cli/src/files/checked-document.ts';
import { findTerminalAndCard } from './build-request.ts';
import { type Case, CertificationPlan, paymentActions, type Step } from './certification-plan.ts';

type PlanError = { readonly path: DocumentPath; readonly detail: string };

const commonMembers = ['do', 'name', 'expect'];
const cardMembers = [
  'terminal',
  'card',
  'entryMode',
  'amount',
  'currency',
  'remoteOrder',
  'chipData',
  'orderId',
];
const firstMessageMembers = ['tip', 'cashback', 'withPin', 'withSecurityCode', 'address'];
const membersByAction: Readonly<Record<Step['do'], readonly string[]>> = {
  Sale: [...cardMembers, ...firstMessageMembers],
  Authorization: [...cardMembers, ...firstMessageMembers],
  OfflineSale: [...cardMembers, 'tip', 'authorizationCode'],
  Capture: ['original', 'amount', 'final'],
  Refund: ['original', 'amount'],
  Reversal: ['original', 'amount', 'remainingAmount', 'reason', 'chipData'],
  Repeat: ['step'],
  SignOn: [],
  Await: ['from', 'mti', 'having', 'withinSeconds'],
  Pause: ['seconds'],
  Ask: ['text'],
};
const requiredByAction: Partial<Record<Step['do'], readonly (keyof Step)[]>> = {
  OfflineSale: ['authorizationCode'],
  Await: ['from', 'mti'],
  Pause: ['seconds'],
  Ask: ['text'],
};
const firstMessages: readonly string[] = ['Sale', 'Authorization', 'OfflineSale'];
const payments: readonly string[] = paymentActions;
/** The earlier steps to which a member of the step refers. */
const referencedActions = { original: firstMessages, step: payments } as const;

function findStepErrors(step: Step, earlier: readonly Step[]): PlanError[] {
  const allowed = [...commonMembers, ...membersByAction[step.do]];
  const surplus = Object.keys(step)
    .filter((member) => !allowed.includes(member))
    .map((member) => ({
      path: [member],
      detail: `has no effect with "do: ${step.do}"; remove it`,
    }));
  const missing = (requiredByAction[step.do] ?? [])
    .filter((member) => step[member] === undefined)
    .map((member) => ({ path: [], detail: `needs ${member} with "do: ${step.do}"` }));
  const unknownSteps = (['original', 'step'] as const).flatMap((member) => {
    const name = step[member];
    const isReferenced = (each: Step) =>
      each.name === name && referencedActions[member].includes(each.do);
    if (name === undefined || earlier.some(isReferenced)) return [];
    return [{ path: [member], detail: `names no earlier payment of the case: ${name}` }];
  });
  const isFollowUp = payments.includes(step.do) && !firstMessages.includes(step.do);
  const needsEarlier = isFollowUp ? firstMessages : step.do === 'Repeat' ? payments : [];
  const isFirst = !earlier.some((each) => needsEarlier.includes(each.do));
  const withoutOriginal =
    needsEarlier.length > 0 && isFirst
      ? [{ path: [], detail: `${step.do} needs an earlier ${needsEarlier.join(', ')}` }]
      : [];
  return [...surplus, ...missing, ...unknownSteps, ...withoutOriginal];
}

function findNameErrors(plan: CertificationPlan, used: Case | Step): PlanError[] {
  const lists = { terminal: plan.terminals, card: plan.cards } as const;
  return (['terminal', 'card'] as const).flatMap((member) => {
    const name = used[member];
    if (name === undefined || Object.hasOwn(lists[member], name)) return [];
    return [{ path: [member], detail: `names no ${member} of the plan: ${name}` }];
  });
}

/** The data that a step sends must be at its card. */
function findCardErrors(plan: CertificationPlan, each: Case, step: Step): PlanError[] {
  const { card } = findTerminalAndCard(plan, each, step);
  const required = [
    { member: 'withPin', data: card?.pin },
    { member: 'withSecurityCode', data: card?.securityCode },
  ] as const;
  return required
    .filter(({ member, data }) => step[member] === true && data === undefined)
    .map(({ member }) => ({ path: [member], detail: 'needs this data in the card of the step' }));
}

function isTimeZone(timeZone: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone });
    return true;
  } catch {
    // A RangeError is the only way to learn that the name is not valid.
    return false;
  }
}

/** The errors of a plan that satisfies the schema, in the order of the file. */
function findPlanErrors(plan: CertificationPlan): readonly PlanError[] {
  const { timeZone } = plan.merchant;
  const errors: PlanError[] = isTimeZone(timeZone)
    ? []
    : [{ path: ['merchant', 'timeZone'], detail: `is no time zone: ${timeZone}` }];
  const ids = new Set<string>();
  for (const [index, each] of plan.cases.entries()) {
    const within = (path: DocumentPath) => (error: PlanError) => ({
      ...error,
      path: ['cases', index, ...path, ...error.path],
    });
    if (ids.has(each.id))
      errors.push({ path: ['cases', index, 'id'], detail: `repeats the id ${each.id}` });
    ids.add(each.id);
    errors.push(...findNameErrors(plan, each).map(within([])));
    for (const [at, step] of each.steps.entries()) {
      const stepErrors = findStepErrors(step, each.steps.slice(0, at));
      const cardErrors = findCardErrors(plan, each, step);
      errors.push(
        ...[...findNameErrors(plan, step), ...stepErrors, ...cardErrors].map(within(['steps', at])),
      );
    }
  }
  return errors;
}

/** @throws CommandError with all errors of the file and their lines */
export function readCertificationPlan(file: string): CertificationPlan {
  const document = readCheckedDocument(file, CertificationPlan);
  const plan = document.value as CertificationPlan;
  document.requireNoErrors(findPlanErrors(plan));
  return plan;
}
