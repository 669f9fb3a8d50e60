/** `switchyard config`: the configuration of services at four levels, and its versions. */
import type { Command } from 'commander';
import type { CommandContext, CommandRunner } from '../../command-line/command-runner.ts';
import {
  addListOptions,
  type ListOptions,
  parseJsonOption,
} from '../../command-line/list-options.ts';
import { column, printList, printResource, type Row } from '../../command-line/list-output.ts';
import { membersOf } from '../../http/problem-details.ts';
import { formatCell } from '../../output/table.ts';
import { fail } from '../../runtime/command-error.ts';
import { addLevelOptions, findServiceId, selectLevel } from './service-commands.ts';

type LevelOptions = Parameters<typeof selectLevel>[1];

async function configPath(
  context: CommandContext,
  service: string,
  levelOptions: LevelOptions,
): Promise<string> {
  const { list, entityId } = await selectLevel(context, levelOptions);
  const serviceId = await findServiceId(context, service);
  return `/configuration/v1/${list}/${encodeURIComponent(entityId)}/services/${serviceId}`;
}

function valueAtPointer(values: unknown, pointer: string): unknown {
  const parts = pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
  return parts.reduce<unknown>((value, part) => membersOf(value)[part], values);
}

async function printConfiguration(
  context: CommandContext,
  service: string,
  levelOptions: LevelOptions,
): Promise<undefined> {
  const { body } = await context
    .api()
    .call<Row>('GET', await configPath(context, service, levelOptions));
  const effective = membersOf(body['effective']);
  const sources = Array.isArray(effective['sources']) ? effective['sources'].map(membersOf) : [];
  context.output.printResult(body, () => {
    if (sources.length === 0) return 'No level sets a value.\n';
    return context.output.formatTable(
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
  return undefined;
}

async function setConfiguration(
  context: CommandContext,
  service: string,
  text: string,
  levelOptions: LevelOptions,
): Promise<undefined> {
  const values = parseJsonOption(text, 'The values');
  if (typeof values !== 'object' || values === null || Array.isArray(values))
    fail('usage', 'The values must be a JSON object, such as {"points":3}.');
  const path = await configPath(context, service, levelOptions);
  const { etag } = await context.api().call('GET', path);
  const { body } = await context.api().call<Row>('POST', path, { body: { values }, etag });
  context.output.printResult(body, () =>
    context.output.formatMembers({
      version: body['version'],
      level: body['level'],
      missing: body['missing'],
    }),
  );
  return undefined;
}

export function addConfigCommands(program: Command, { toAction }: CommandRunner): void {
  const config = program
    .command('config')
    .summary('configure services')
    .description('Configures services at the levels organisation, merchant, store and device.');
  addLevelOptions(config.command('get <service>'))
    .description('Shows the effective values at a level and the level that sets each of them.')
    .addHelpText(
      'after',
      '\nExample:\n  $ switchyard config get "EMV terminal parameters" --device 0198…',
    )
    .action(
      toAction<LevelOptions>((context, [service = ''], options) =>
        printConfiguration(context, service, options),
      ),
    );
  addLevelOptions(config.command('set <service> <values>'))
    .description(
      'Replaces the values that a level sets itself, as JSON or @file with JSON or YAML. Other values are inherited.',
    )
    .addHelpText(
      'after',
      `\nExample:\n  $ switchyard config set "Loyalty points" '{"points":3}' --store 0198…`,
    )
    .action(
      toAction<LevelOptions>((context, [service = '', values = ''], options) =>
        setConfiguration(context, service, values, options),
      ),
    );
  addListOptions(addLevelOptions(config.command('versions <service>')))
    .description('Lists the earlier versions of the values of a level.')
    .option('--version-number <number>', 'show this version with its values')
    .action(
      toAction<LevelOptions & ListOptions & { versionNumber?: string }>(
        async (context, [service = ''], options) => {
          const path = `${await configPath(context, service, options)}/versions`;
          if (options.versionNumber !== undefined) {
            printResource(
              context,
              (
                await context
                  .api()
                  .call('GET', `${path}/${encodeURIComponent(options.versionNumber)}`)
              ).body,
            );
            return undefined;
          }
          await printList(context, path, {}, options, [
            column('version'),
            column('createdAt', 'AT', true),
            column('isCurrent', 'IN FORCE'),
            { title: 'BY', value: (row) => membersOf(row['author'])['clientId'] },
          ]);
          return undefined;
        },
      ),
    );
}
