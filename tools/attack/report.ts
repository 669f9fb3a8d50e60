// Prints the attempts and responses of each attack, and the table at the end.
import type { Outcome } from './attack.ts';

const isDefended = ({ failures }: Outcome) => failures.length === 0;
const failuresMax = 20;

export function describeOutcome(outcome: Outcome): string {
  const { item, name, attempts, seconds, responses, failures } = outcome;
  const lines = [`${item}  ${name}`, `   ${attempts} attempts in ${seconds} s`];
  for (const [response, times] of responses)
    lines.push(`   ${String(times).padStart(6)} × ${response}`);
  lines.push(`   ${isDefended(outcome) ? 'held' : 'BROKEN'}`);
  for (const each of failures.slice(0, failuresMax)) lines.push(`   ✗ ${each}`);
  if (failures.length > failuresMax) lines.push(`   ✗ and ${failures.length - failuresMax} more`);
  return lines.join('\n');
}

export function summarize(outcomes: readonly Outcome[]): string {
  const rows = outcomes.map((outcome) => {
    const state = isDefended(outcome) ? 'held' : 'BROKEN';
    return `${outcome.item}  ${state.padEnd(8)}${String(outcome.attempts).padStart(8)}  ${outcome.name}`;
  });
  return ['#  result  attempts  attack', ...rows].join('\n');
}
