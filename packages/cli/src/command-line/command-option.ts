/** Options of the commands that are data. */
import { defined } from '@switchyard/contract';
import { Option } from 'commander';

/** The values of the options by their name in camel case. */
export type OptionValues = Readonly<Record<string, unknown>>;

export type CommandOption = {
  readonly option: Option;
  /** The query parameter of a list, or the member of the body, that the option sets. */
  readonly member?: string;
  /** What a flag sets; by default the value of the option. */
  readonly value?: unknown;
};

type OptionRules = {
  readonly parse?: (text: string, before: never) => unknown;
  readonly default?: unknown;
  /** The default in the help, if it is no text or number. */
  readonly defaultText?: string;
  readonly conflicts?: readonly string[];
  readonly required?: true;
  readonly choices?: readonly string[];
};

function createOption(flags: string, description: string, rules: OptionRules): Option {
  const option = new Option(flags, description);
  if (rules.parse !== undefined) option.argParser(rules.parse as (text: string) => unknown);
  if (rules.choices !== undefined) option.choices(rules.choices);
  if (rules.default !== undefined) option.default(rules.default, rules.defaultText);
  if (rules.conflicts !== undefined) option.conflicts([...rules.conflicts]);
  return option.makeOptionMandatory(rules.required === true);
}

/** An option that a function reads. */
export const option = (
  flags: string,
  description: string,
  rules: OptionRules = {},
): CommandOption => ({ option: createOption(flags, description, rules) });

/** An option that sets a query parameter of a list, or a member of the body. */
export const memberOption = (
  flags: string,
  description: string,
  member: string,
  { value, ...rules }: OptionRules & { readonly value?: unknown } = {},
): CommandOption => ({
  option: createOption(flags, description, rules),
  member,
  ...defined({ value }),
});

/** The members that the options of the command line set. */
export function membersFromOptions(
  options: readonly CommandOption[],
  values: OptionValues,
): Record<string, unknown> {
  const members: Record<string, unknown> = {};
  for (const { option: each, member, value } of options) {
    const optionValue = values[each.attributeName()];
    if (member !== undefined && optionValue !== undefined) members[member] = value ?? optionValue;
  }
  return members;
}

/** The parser of an option that can be repeated. */
export const collectTexts = (text: string, before: readonly string[] = []): string[] => [
  ...before,
  text,
];
