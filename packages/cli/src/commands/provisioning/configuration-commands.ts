/** `switchyard config`: the configuration of services at four levels, and its versions. */
import { isObject } from '@switchyard/contract';
import type { CommandGroup } from '../../command-line/command-definition.ts';
import { type OptionValues, option } from '../../command-line/command-option.ts';
import type { CommandContext } from '../../command-line/command-runner.ts';
import { type ListOptions, listOptions, parseJsonOption } from '../../command-line/list-options.ts';
import { column, printList, printResource, type Row } from '../../command-line/list-output.ts';
import { levelOptions, resolvePath } from '../../command-line/path-parameters.ts';
import { listOf, membersOf } from '../../http/problem-details.ts';
import { formatCell } from '../../output/table.ts';
import { fail } from '../../runtime/command-error.ts';

const configurationPath = '/configuration/v1/{level}/{entityId}/services/{serviceId}';

function valueAtPointer(values: unknown, pointer: string): unknown {
  const parts = pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
  return parts.reduce<unknown>((value, part) => membersOf(value)[part], values);
}

function printConfiguration({ output }: CommandContext, response: Row): void {
  const effective = membersOf(response['effective']);
  const sources = listOf(effective['sources']);
  output.printResult(response, () => {
    if (sources.length === 0) return 'No level sets a value.\n';
    return output.formatTable(
      [
        { title: 'VALUE', value: ({ pointer }) => pointer, keepEnd: true },
        {
          title: 'IS',
          value: ({ pointer }) => formatCell(valueAtPointer(effective['values'], String(pointer))),
        },
        { title: 'FROM', value: ({ level }) => level, neverTruncate: true },
      ],
      sources,
    );
  });
}

async function setConfiguration(
  context: CommandContext,
  [service = '', text = '']: string[],
  options: OptionValues,
): Promise<void> {
  const values = parseJsonOption(text, 'The values');
  if (!isObject(values)) fail('usage', 'The values must be a JSON object, such as {"points":3}.');
  const { path } = await resolvePath(context, configurationPath, [service], options);
  const { etag } = await context.api().call('GET', path);
  const { body } = await context.api().call<Row>('POST', path, { body: { values }, etag });
  const { version, level, missing } = body;
  context.output.printResult(body, () => context.output.formatMembers({ version, level, missing }));
}

async function listVersions(
  context: CommandContext,
  args: string[],
  options: OptionValues & ListOptions & { readonly versionNumber?: string },
): Promise<void> {
  const { path } = await resolvePath(context, `${configurationPath}/versions`, args, options);
  const { versionNumber } = options;
  if (versionNumber !== undefined) {
    const versionPath = `${path}/${encodeURIComponent(versionNumber)}`;
    printResource(context, (await context.api().call('GET', versionPath)).body);
    return;
  }
  await printList(context, path, {}, options, [
    'version',
    column('createdAt', 'AT', true),
    column('isCurrent', 'IN FORCE'),
    { title: 'BY', value: (row) => membersOf(row['author'])['clientId'] },
  ]);
}

export const configurationCommands: CommandGroup = {
  group: 'config',
  summary: 'configure services',
  description: 'Configures services at the levels organisation, merchant, store and device.',
  commands: [
    {
      command: 'get <service>',
      description: 'Shows the effective values at a level and the level that sets each of them.',
      route: `GET ${configurationPath}`,
      options: levelOptions,
      print: printConfiguration,
      examples: ['switchyard config get "EMV terminal parameters" --device 0198…'],
    },
    {
      command: 'set <service> <values>',
      description:
        'Replaces all values that are set at one level. All other values are inherited from the level above.',
      arguments: { values: 'values as JSON, or @file with JSON or YAML' },
      options: levelOptions,
      run: setConfiguration,
      examples: [`switchyard config set "Loyalty points" '{"points":3}' --store 0198…`],
    },
    {
      command: 'versions <service>',
      description: 'Lists the earlier versions of the values of a level.',
      options: [
        ...levelOptions,
        ...listOptions,
        option('--version-number <number>', 'show this version with its values'),
      ],
      run: listVersions,
    },
  ],
};
