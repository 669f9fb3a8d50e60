/** Formats a plan as text and JSON: the created, changed and removed resources. */

import type { Paint } from '../output/colours.ts';
import { escapeText } from '../output/escape-text.ts';
import { formatCell } from '../output/table.ts';
import { type Change, type Plan, plansOf } from './compare-estates.ts';
import { resourceLabel } from './estate-model.ts';

export type Counts = {
  readonly create: number;
  readonly change: number;
  readonly remove: number;
  readonly unchanged: number;
};

const symbols = { create: '+', change: '~', remove: '-' } as const;
const colours = { create: 'green', change: 'yellow', remove: 'red' } as const;

export function countsOf(plan: Plan): Counts {
  const counts = { create: 0, change: 0, remove: 0, unchanged: 0 };
  for (const { changes, unchanged } of plansOf(plan)) {
    counts.unchanged += unchanged;
    for (const { action } of changes) counts[action] += 1;
  }
  return counts;
}

export function* listPlanChanges(plan: Plan): Generator<{ organization: string; change: Change }> {
  for (const { organization, changes } of plansOf(plan)) {
    for (const change of changes) yield { organization: organization.key, change };
  }
}

/** A change in the output of `--json`. */
export const changeToJson = (organization: string, { action, resource, members }: Change) => ({
  organization,
  action,
  kind: resource.kind,
  resource: resourceLabel(resource),
  members,
});

function formatChange({ action, resource, members }: Change, paint: Paint): string {
  const head = paint(colours[action], `${symbols[action]} ${escapeText(resourceLabel(resource))}`);
  if (action === 'remove') return `${head}\n`;
  const lines = members.map(({ member, before, after }) => {
    const name = escapeText(member);
    if (action === 'create') return `    ${name}: ${formatCell(after)}`;
    return `    ${name}: ${paint('red', formatCell(before))} → ${paint('green', formatCell(after))}`;
  });
  return [head, ...lines].map((line) => `${line}\n`).join('');
}

export function formatPlan(plan: Plan, paint: Paint, removalLabel: string): string {
  const hasSubOrganizations = plan.subOrganizations.length > 0;
  let text = '';
  for (const { organization, changes } of plansOf(plan)) {
    if (changes.length === 0) continue;
    if (hasSubOrganizations)
      text += `${paint('bold', `organization ${escapeText(organization.key)}`)}\n`;
    text += changes.map((change) => formatChange(change, paint)).join('');
  }
  const { create, change, remove, unchanged } = countsOf(plan);
  if (create + change + remove === 0)
    return `No differences; ${unchanged} resources match the file.\n`;
  return `${text}${create} to create, ${change} to change, ${remove} ${removalLabel}; ${unchanged} unchanged.\n`;
}
