/** Commands as data: a route of the API, or a function. One implementation makes options, request and output of them. */
import type { Command } from 'commander';
import type { Query } from '../http/api-client.ts';
import type { Column } from '../output/table.ts';
import { type CommandOption, membersFromOptions, type OptionValues } from './command-option.ts';
import type { CommandContext, CommandResult, CommandRunner } from './command-runner.ts';
import { type ListOptions, listOptions } from './list-options.ts';
import { printList, printResource, type Row } from './list-output.ts';
import {
  editOptions,
  editResource,
  parseMembers,
  type SetOptions,
  setOptions,
} from './member-options.ts';
import { resolvePath } from './path-parameters.ts';
import { requestSecret, type SecretOptions, secretOptions } from './secret-output.ts';

type CommandTexts = {
  /** The name and the arguments, such as `edit <clientId>`. */
  readonly command: string;
  readonly summary?: string;
  readonly description: string;
  readonly options?: readonly CommandOption[];
  /** Descriptions of the arguments by name. */
  readonly arguments?: Readonly<Record<string, string>>;
  /** Text below the options, before the examples. */
  readonly help?: string;
  readonly examples?: readonly string[];
  /** Runs if the group is called without a command. */
  readonly isDefault?: true;
};

/** A command that sends one request and prints the response. */
export type RequestCommand = CommandTexts & {
  /** Method and path. An argument that is no parameter of the path is a member of the body. */
  readonly route: string;
  /** The response is a list: the command has --limit and --all. */
  readonly columns?: readonly Column<Row>[];
  /** The command has --set and --from. */
  readonly takesMembers?: true;
  /** The command reads the resource, changes members of it and sends it back. */
  readonly edits?: true;
  /** The response has a secret: the command has --secret-out and --show-secret. */
  readonly hasSecret?: true;
  /** The option with which the response has no secret. */
  readonly withoutSecret?: string;
  /** Members of the body that are always the same. */
  readonly members?: Row;
  /** Members of the body that need code, in place of the arguments. */
  toMembers?(context: CommandContext, options: OptionValues, args: string[]): Row | Promise<Row>;
  /** Prints the response in another way than one member in each line. */
  print?(context: CommandContext, response: Row): void;
};

/** A command that does more than one request, or none. */
export type FunctionCommand = CommandTexts & {
  /** The command ends by itself after Ctrl+C. */
  readonly finishes?: true;
  run(context: CommandContext, args: string[], options: OptionValues): CommandResult;
};

export type CommandGroup = {
  readonly group: string;
  readonly summary?: string;
  readonly description: string;
  readonly commands: readonly CommandDefinition[];
};

export type CommandDefinition = RequestCommand | FunctionCommand | CommandGroup;

const argumentNames = (command: string): string[] =>
  [...command.matchAll(/[<[](\w+)/g)].map(([, name = '']) => name);

/** The body of the request; undefined if the command has no members. */
async function createBody(
  context: CommandContext,
  definition: RequestCommand,
  values: OptionValues,
  args: string[],
  unusedArgs: string[],
): Promise<Row | undefined> {
  const { takesMembers, toMembers, options = [], command } = definition;
  const names = argumentNames(command).slice(args.length - unusedArgs.length);
  const body = {
    ...(takesMembers ? parseMembers(values as SetOptions) : undefined),
    ...definition.members,
    ...(toMembers === undefined
      ? Object.fromEntries(unusedArgs.map((value, index) => [names[index], value]))
      : await toMembers(context, values, args)),
    ...membersFromOptions(options, values),
  };
  const hasBody = Object.keys(body).length > 0 || definition.members !== undefined;
  return hasBody ? body : undefined;
}

async function sendRequest(
  context: CommandContext,
  definition: RequestCommand,
  args: string[],
  values: OptionValues,
): Promise<void> {
  const { columns, edits, members, hasSecret, withoutSecret = '' } = definition;
  const [method = '', template = ''] = definition.route.split(' ');
  const { path, unusedArgs } = await resolvePath(context, template, args, values);
  if (columns !== undefined) {
    const query = membersFromOptions(definition.options ?? [], values) as Query;
    await printList(context, path, query, values as ListOptions, columns);
    return;
  }
  if (edits) {
    const setOptionValues = values as SetOptions;
    const changes = members ?? parseMembers(setOptionValues);
    printResource(context, await editResource(context, path, changes, setOptionValues.unset));
    return;
  }
  const body = await createBody(context, definition, values, args, unusedArgs);
  const request = () => context.api().call<Row>(method, path, { body });
  const response =
    hasSecret && !values[withoutSecret]
      ? await requestSecret(values as SecretOptions, request)
      : (await request()).body;
  if (definition.print !== undefined) definition.print(context, response);
  else if (method === 'DELETE')
    context.output.printResult({ removed: args.at(-1) }, () => 'Removed.\n');
  else printResource(context, response);
}

function optionsOf(definition: RequestCommand | FunctionCommand): readonly CommandOption[] {
  const { options = [] } = definition;
  if (!('route' in definition)) return options;
  const { columns, takesMembers, edits, members, hasSecret } = definition;
  return [
    ...(columns === undefined ? [] : listOptions),
    ...(takesMembers ? setOptions : []),
    ...(edits && members === undefined ? editOptions : []),
    ...(hasSecret ? secretOptions : []),
    ...options,
  ];
}

function helpAfterOptions({ help, examples = [] }: CommandTexts): string {
  const lines = examples.map((each) => `\n  $ ${each}`).join('');
  const title = examples.length === 1 ? 'Example' : 'Examples';
  return `${help === undefined ? '' : `\n${help}\n`}${lines === '' ? '' : `\n${title}:${lines}`}`;
}

/** Adds the commands to the program, or to a group of it. */
export function addCommands(
  parent: Command,
  runner: CommandRunner,
  definitions: readonly CommandDefinition[],
): void {
  for (const definition of definitions) {
    if ('group' in definition) {
      const { group, summary = '', description, commands } = definition;
      const command = parent.command(group).summary(summary).description(description);
      addCommands(command, runner, commands);
      continue;
    }
    const { command: usage, summary = '', description, isDefault = false } = definition;
    const command = parent.command(usage, { isDefault }).summary(summary).description(description);
    for (const argument of command.registeredArguments)
      argument.description = definition.arguments?.[argument.name()] ?? '';
    for (const { option: each } of optionsOf(definition)) command.addOption(each);
    command.addHelpText('after', helpAfterOptions(definition));
    const action = runner.toAction(
      (context, args, values) =>
        'route' in definition
          ? sendRequest(context, definition, args, values)
          : definition.run(context, args, values),
      { finishes: 'run' in definition && definition.finishes === true },
    );
    command.action(action);
  }
}
