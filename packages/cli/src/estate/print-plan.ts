/** Shows a plan to people: what comes, what goes, what changes from what to what. */

import type { Paint } from '../output/colours.ts';
import { visible } from '../output/escape-text.ts';
import { cellOf } from '../output/table.ts';
import { type Change, type Plan, plansOf } from './compare-estates.ts';
import { nameOf } from './estate-model.ts';

export type Counts = {
  readonly create: number;
  readonly change: number;
  readonly remove: number;
  readonly unchanged: number;
};

const signs = { create: '+', change: '~', remove: '-' } as const;
const colours = { create: 'green', change: 'yellow', remove: 'red' } as const;

export function countsOf(plan: Plan): Counts {
  const counts = { create: 0, change: 0, remove: 0, unchanged: 0 };
  for (const { changes, unchanged } of plansOf(plan)) {
    counts.unchanged += unchanged;
    for (const { action } of changes) counts[action] += 1;
  }
  return counts;
}

export function* changesOf(plan: Plan): Generator<{ organization: string; change: Change }> {
  for (const { organization, changes } of plansOf(plan)) {
    for (const change of changes) yield { organization: organization.key, change };
  }
}

/** As `--json` tells it. */
export const changeFacts = (organization: string, { action, thing, members }: Change) => ({
  organization,
  action,
  kind: thing.kind,
  thing: nameOf(thing),
  members,
});

function changeText({ action, thing, members }: Change, paint: Paint): string {
  const head = paint(colours[action], `${signs[action]} ${visible(nameOf(thing))}`);
  if (action === 'remove') return `${head}\n`;
  const lines = members.map(({ member, before, after }) => {
    const name = visible(member);
    if (action === 'create') return `    ${name}: ${cellOf(after)}`;
    return `    ${name}: ${paint('red', cellOf(before))} → ${paint('green', cellOf(after))}`;
  });
  return [head, ...lines].map((line) => `${line}\n`).join('');
}

export function planText(plan: Plan, paint: Paint, removes: string): string {
  const several = plan.below.length > 0;
  let shown = '';
  for (const { organization, changes } of plansOf(plan)) {
    if (changes.length === 0) continue;
    if (several) shown += `${paint('bold', `organization ${visible(organization.key)}`)}\n`;
    shown += changes.map((change) => changeText(change, paint)).join('');
  }
  const { create, change, remove, unchanged } = countsOf(plan);
  if (create + change + remove === 0)
    return `No differences; ${unchanged} things are as the file says.\n`;
  return `${shown}${create} to create, ${change} to change, ${remove} ${removes}; ${unchanged} unchanged.\n`;
}
