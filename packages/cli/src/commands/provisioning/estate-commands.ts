/** `switchyard estate`: exports, compares and imports the estate of an organisation as one file. */
import { renameSync, writeFileSync } from 'node:fs';
import type { CommandGroup } from '../../command-line/command-definition.ts';
import { option } from '../../command-line/command-option.ts';
import type { CommandContext } from '../../command-line/command-runner.ts';
import { parseCommaList } from '../../command-line/list-options.ts';
import { type ApplyOutcome, applyPlan } from '../../estate/apply-plan.ts';
import { compareEstates, type Plan } from '../../estate/compare-estates.ts';
import { formatEstate, readEstateFile } from '../../estate/estate-file.ts';
import type { Estate, ResourceKind } from '../../estate/estate-model.ts';
import { changeToJson, countsOf, formatPlan, listPlanChanges } from '../../estate/format-plan.ts';
import { readServerEstate } from '../../estate/read-server-estate.ts';
import { resourceDefinitions } from '../../estate/resource-kinds.ts';
import type { EstateOwner } from '../../estate/resource-routes.ts';
import { openSecretsFile, resourcesWithSecrets } from '../../estate/secrets-file.ts';
import { escapeText } from '../../output/escape-text.ts';
import { confirm } from '../../output/prompt.ts';
import { CommandError, fail } from '../../runtime/command-error.ts';
import type { ExitName } from '../../runtime/exit-codes.ts';

type ExportOptions = {
  readonly out?: string;
  readonly merchant?: string[];
  readonly skip?: string[];
};
type ImportOptions = {
  readonly dryRun?: boolean;
  readonly prune?: boolean;
  readonly yes?: boolean;
  readonly secretsOut?: string;
  readonly showSecrets?: boolean;
};

async function findOwner(context: CommandContext): Promise<EstateOwner> {
  const session = context.session();
  const organizationId = await session.organizationId();
  if (context.globals.organization === undefined)
    return { organizationId, userDomainId: session.profile.userDomainId };
  // The users of an organisation below are in a user domain of its own, if it has one.
  const path = `/provisioning/v2/organizations/${encodeURIComponent(organizationId)}`;
  const { body } = await session.api.call<{ userDomainId?: string }>('GET', path);
  return { organizationId, userDomainId: body.userDomainId };
}

function parseSkippedKinds(lists: readonly string[] | undefined): ReadonlySet<ResourceKind> {
  const selectedKinds = (lists ?? []).map((list) => {
    const kind = resourceDefinitions.find((each) => each.list === list);
    return (
      kind?.name ??
      fail(
        'usage',
        `“${list}” is not a list of an estate file.`,
        `Use one of: ${resourceDefinitions.map((each) => each.list).join(', ')}`,
      )
    );
  });
  return new Set(selectedKinds);
}

async function readServer(
  context: CommandContext,
  owner: EstateOwner,
  skipped: ReadonlySet<ResourceKind>,
  only?: readonly string[],
): Promise<Estate> {
  const progress = context.output.startProgress('Reading the estate');
  try {
    return await readServerEstate(context.api(), owner, {
      progress,
      stopping: context.environment.stopping,
      skipped,
      only,
      note: (text) => context.output.printNote(text),
    });
  } finally {
    progress.end();
  }
}

/** Writes a temporary file and renames it: an old file stays until the new one is complete. */
function writeFileAtomically(file: string, text: string): void {
  const temporaryFile = `${file}.${process.pid}.part`;
  try {
    writeFileSync(temporaryFile, text);
    renameSync(temporaryFile, file);
  } catch (error) {
    fail('fault', `${file} cannot be written: ${(error as NodeJS.ErrnoException).code}.`);
  }
}

const countResources = ({ resources, subOrganizations }: Estate): number =>
  subOrganizations.reduce((sum, each) => sum + countResources(each), resources.length);

async function exportEstate(
  context: CommandContext,
  _args: string[],
  { out, merchant, skip }: ExportOptions,
): Promise<void> {
  const estate = await readServer(
    context,
    await findOwner(context),
    parseSkippedKinds(skip),
    merchant,
  );
  const isJson = out === undefined ? context.output.json : out.endsWith('.json');
  const text = formatEstate(estate, isJson);
  if (out === undefined) {
    context.output.printText(text);
    return;
  }
  writeFileAtomically(out, text);
  const resources = countResources(estate);
  context.output.printResult(
    { file: out, resources, subOrganizations: estate.subOrganizations.length },
    () => `${resources} resources in ${out}\n`,
  );
}

/** The resource kinds that the file does not contain or refer to; they need not be read. */
function findUnusedKinds(fileEstate: Estate): ReadonlySet<ResourceKind> {
  const all = ({ managed, resources, subOrganizations }: Estate): ResourceKind[] => [
    ...managed,
    // Kinds below a merchant, such as its configuration, have no list at the top.
    ...new Set(resources.map(({ kind }) => kind)),
    ...subOrganizations.flatMap(all),
  ];
  const usedKinds = new Set(all(fileEstate));
  // Other resources refer to these kinds by key.
  const referencedKinds: ResourceKind[] = [
    'merchant',
    'store',
    'acquirerLink',
    'physicalDevice',
    'service',
    'package',
    'logicalDevice',
    'pointOfSale',
  ];
  return new Set(
    resourceDefinitions
      .map(({ name }) => name)
      .filter((name) => !usedKinds.has(name) && !referencedKinds.includes(name)),
  );
}

async function createPlan(
  context: CommandContext,
  file: string,
): Promise<{ plan: Plan; owner: EstateOwner }> {
  const fileEstate = readEstateFile(file);
  const owner = await findOwner(context);
  return {
    plan: compareEstates(fileEstate, await readServer(context, owner, findUnusedKinds(fileEstate))),
    owner,
  };
}

function printPlan(context: CommandContext, plan: Plan, removalLabel: string): void {
  const facts = () => ({
    ...countsOf(plan),
    changes: [...listPlanChanges(plan)].map(({ organization, change }) =>
      changeToJson(organization, change),
    ),
  });
  if (context.output.json) context.output.printJson(facts());
  else context.output.printText(formatPlan(plan, context.output.paint, removalLabel));
}

async function diffEstate(
  context: CommandContext,
  [file = '']: string[],
  { exitCode: withExitCode = false }: { readonly exitCode?: boolean },
): Promise<ExitName | undefined> {
  const { plan } = await createPlan(context, file);
  printPlan(context, plan, 'only on the server');
  const { create, change, remove } = countsOf(plan);
  return withExitCode && create + change + remove > 0 ? 'differences' : undefined;
}

/** The server returns new secrets only once: requires --secrets-out or --show-secrets before the import. */
function requireSecretsDestination(plan: Plan, { secretsOut, showSecrets }: ImportOptions): void {
  const count = resourcesWithSecrets(plan).length;
  if (count === 0 || secretsOut !== undefined || showSecrets) return;
  fail(
    'usage',
    `The server creates a secret for ${count} of the resources and returns it only once. Name a file with --secrets-out.`,
    'Or print the secrets on stderr with --show-secrets.',
  );
}

async function requireConfirmation(
  context: CommandContext,
  plan: Plan,
  { prune, yes }: ImportOptions,
): Promise<void> {
  const { remove } = countsOf(plan);
  if (!prune || yes || remove === 0) return;
  if (!context.output.json)
    context.output.printText(formatPlan(plan, context.output.paint, 'to remove'));
  await confirm(
    context.environment,
    `Remove ${remove} ${remove === 1 ? 'thing' : 'things'}?`,
    '--yes',
  );
}

function printOutcome(
  context: CommandContext,
  outcome: ApplyOutcome,
  secrets: number,
): ExitName | undefined {
  const { stoppedBy, failures, ...counts } = outcome;
  const facts = {
    ...counts,
    failures,
    secrets,
    complete: stoppedBy === undefined && failures.length === 0,
  };
  context.output.printResult(facts, () => {
    const { created, changed, removed, unchanged } = counts;
    const failed = failures.map(
      ({ resource, action, message }) =>
        `! ${action} ${escapeText(resource)}: ${escapeText(message)}\n`,
    );
    const total = `${created} created, ${changed} changed, ${removed} removed, ${unchanged} unchanged`;
    return `${failed.join('')}${total}${failures.length === 0 ? '' : `, ${failures.length} failed`}.\n`;
  });
  if (stoppedBy !== undefined) {
    throw new CommandError(stoppedBy.exit, stoppedBy.message, {
      more: [...stoppedBy.more, 'Run the same command again to continue.'],
      facts: stoppedBy.facts,
    });
  }
  return failures.length > 0 ? 'partlyDone' : undefined;
}

async function importEstate(
  context: CommandContext,
  [file = '']: string[],
  options: ImportOptions,
): Promise<ExitName | undefined> {
  const { plan, owner } = await createPlan(context, file);
  if (options.dryRun) {
    printPlan(context, plan, options.prune ? 'to remove' : 'only on the server, not removed');
    return undefined;
  }
  requireSecretsDestination(plan, options);
  await requireConfirmation(context, plan, options);
  const { create, change, remove } = countsOf(plan);
  const total = create + change + (options.prune ? remove : 0);
  const show = options.showSecrets ? (line: string) => context.output.printNote(line) : undefined;
  const secrets = openSecretsFile(options.secretsOut, show);
  const progress = context.output.startProgress('Applying the estate');
  try {
    const outcome = await applyPlan(context.api(), owner, plan, {
      prunes: options.prune === true,
      secrets,
      stopping: context.environment.stopping,
      ownClientId: context.session().profile.clientId,
      ownSubject: (await context.session().claims()).subject,
      step: (done) => progress.step(done, total),
    });
    progress.end();
    return printOutcome(context, outcome, secrets.count());
  } finally {
    progress.end();
    secrets.close();
  }
}

export const estateCommands: CommandGroup = {
  group: 'estate',
  summary: 'export, compare and import an estate as one file',
  description:
    'Exports, compares and imports an estate as one file. An estate is everything below an organisation: merchants, stores, devices, acquirer links, users, applications and services.',
  commands: [
    {
      command: 'export',
      description:
        'Exports the estate of the organisation and of those below it as one file. Two exports of an unchanged estate are identical.',
      options: [
        option(
          '-o, --out <file>',
          'output file, JSON if it ends in .json, otherwise YAML; default: stdout',
        ),
        option(
          '-m, --merchant <key>',
          'export only this merchant; <key> is its external id, name or id; can be repeated',
          {
            parse: parseCommaList,
          },
        ),
        option(
          '--skip <lists>',
          'top-level lists that are not exported, such as users,configurations',
          {
            parse: parseCommaList,
          },
        ),
      ],
      run: exportEstate,
      help: `The file never contains secrets or passwords. It identifies a resource by its external id. If a resource has
no external id, the file identifies it by its name and also contains its id on the server.`,
      examples: [
        'switchyard estate export --out estate.yaml',
        'switchyard estate export --merchant lumiere --out lumiere.json',
      ],
    },
    {
      command: 'diff <file>',
      description:
        'Shows the resources that an import would create or change, and those that exist only on the server.',
      options: [option('--exit-code', 'set the exit code to 8 if there are differences')],
      run: diffEstate,
      examples: ['switchyard estate diff estate.yaml --exit-code'],
    },
    {
      command: 'import <file>',
      description:
        'Creates and changes resources on the server until they match the file. A second import changes nothing. Run an interrupted import again to continue.',
      finishes: true,
      options: [
        option('--dry-run', 'only show the changes'),
        option(
          '--prune',
          'remove resources that exist on the server but not in the lists of the file; a list that the file does not contain is not changed',
        ),
        option('-y, --yes', 'remove without a confirmation'),
        option(
          '--secrets-out <file>',
          'append new secrets to this file, one JSON line each; only you can read it',
        ),
        option('--show-secrets', 'print new secrets on stderr'),
      ],
      run: importEstate,
      help: `The whole file is checked before anything is sent. The command lists each change that the server rejects,
continues with the others, and ends with exit code 9.`,
      examples: [
        'switchyard estate import estate.yaml --dry-run',
        'switchyard estate import estate.yaml --secrets-out secrets.jsonl',
        'switchyard estate import estate.yaml --prune --yes',
      ],
    },
  ],
};
