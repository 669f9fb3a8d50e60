/** What services are configured with, at four levels, and what was configured before. */
import type { Command } from 'commander';
import type { Kit, Runner } from '../../command-line/command-runner.ts';
import { jsonValue, type ListOptions, listOptions } from '../../command-line/list-options.ts';
import { column, type Row, showList, showThing } from '../../command-line/list-output.ts';
import { membersOf } from '../../http/problem-details.ts';
import { cellOf } from '../../output/table.ts';
import { fail } from '../../runtime/command-error.ts';
import { placeOf, placeOptions, serviceIdOf } from './service-commands.ts';

type Place = Parameters<typeof placeOf>[1];

async function configPath(kit: Kit, service: string, place: Place): Promise<string> {
  const { list, entityId } = await placeOf(kit, place);
  const serviceId = await serviceIdOf(kit, service);
  return `/configuration/v1/${list}/${encodeURIComponent(entityId)}/services/${serviceId}`;
}

function at(values: unknown, pointer: string): unknown {
  const parts = pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
  return parts.reduce<unknown>((value, part) => membersOf(value)[part], values);
}

async function get(kit: Kit, service: string, place: Place): Promise<undefined> {
  const { body } = await kit.api().call<Row>('GET', await configPath(kit, service, place));
  const effective = membersOf(body['effective']);
  const sources = Array.isArray(effective['sources']) ? effective['sources'].map(membersOf) : [];
  kit.screen.result(body, () => {
    if (sources.length === 0) return 'No level sets anything.\n';
    return kit.screen.table(
      [
        { title: 'VALUE', of: ({ pointer }) => pointer, keepsEnd: true },
        { title: 'IS', of: ({ pointer }) => cellOf(at(effective['values'], String(pointer))) },
        { title: 'FROM', of: ({ level }) => level, whole: true },
      ],
      sources,
    );
  });
  return undefined;
}

async function set(kit: Kit, service: string, text: string, place: Place): Promise<undefined> {
  const values = jsonValue(text, 'The values');
  if (typeof values !== 'object' || values === null || Array.isArray(values))
    fail('usage', 'The values are no object.');
  const path = await configPath(kit, service, place);
  const { etag } = await kit.api().call('GET', path);
  const { body } = await kit.api().call<Row>('POST', path, { body: { values }, etag });
  kit.screen.result(body, () =>
    kit.screen.members({
      version: body['version'],
      level: body['level'],
      missing: body['missing'],
    }),
  );
  return undefined;
}

export function addConfigCommands(program: Command, { act }: Runner): void {
  const config = program
    .command('config')
    .summary('what services are configured with')
    .description('What services are configured with, level by level.');
  placeOptions(config.command('get <service>'))
    .description('What holds at a level, and where each value comes from.')
    .addHelpText(
      'after',
      '\nExample:\n  $ switchyard config get "EMV terminal parameters" --device 0198…',
    )
    .action(act<Place>((kit, [service = ''], options) => get(kit, service, options)));
  placeOptions(config.command('set <service> <values>'))
    .description(
      'Sets all that a level sets of its own: JSON, or @file with JSON or YAML. What is left out is inherited.',
    )
    .addHelpText(
      'after',
      `\nExample:\n  $ switchyard config set "Loyalty points" '{"points":3}' --store 0198…`,
    )
    .action(
      act<Place>((kit, [service = '', values = ''], options) => set(kit, service, values, options)),
    );
  listOptions(placeOptions(config.command('versions <service>')))
    .description('Lists what a level set before.')
    .option('--version-number <number>', 'shows this one with its values')
    .action(
      act<Place & ListOptions & { versionNumber?: string }>(
        async (kit, [service = ''], options) => {
          const path = `${await configPath(kit, service, options)}/versions`;
          if (options.versionNumber !== undefined) {
            showThing(
              kit,
              (await kit.api().call('GET', `${path}/${encodeURIComponent(options.versionNumber)}`))
                .body,
            );
            return undefined;
          }
          await showList(kit, path, {}, options, [
            column('version'),
            column('createdAt', 'AT', true),
            column('isCurrent', 'IN FORCE'),
            { title: 'BY', of: (row) => membersOf(row['author'])['clientId'] },
          ]);
          return undefined;
        },
      ),
    );
}
