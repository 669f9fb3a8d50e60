/** The whole estate as one file: exported, compared, applied. */
import { renameSync, writeFileSync } from 'node:fs';
import type { Command } from 'commander';
import type { Kit, Runner } from '../../command-line/command-runner.ts';
import { words } from '../../command-line/list-options.ts';
import { applyPlan, type Outcome } from '../../estate/apply-plan.ts';
import { compare, type Plan } from '../../estate/compare-estates.ts';
import { estateText, readEstate as readFile } from '../../estate/estate-file.ts';
import type { Estate, KindName } from '../../estate/estate-model.ts';
import { changeFacts, changesOf, countsOf, planText } from '../../estate/print-plan.ts';
import { readEstate } from '../../estate/read-server-estate.ts';
import { kinds } from '../../estate/resource-kinds.ts';
import type { Home } from '../../estate/resource-routes.ts';
import { openSecrets, secretive } from '../../estate/secrets-file.ts';
import { visible } from '../../output/escape-text.ts';
import { confirm } from '../../output/prompt.ts';
import { CommandFault, fail } from '../../runtime/command-error.ts';
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

async function homeOf(kit: Kit): Promise<Home> {
  const session = kit.session();
  const organizationId = await session.organizationId();
  if (kit.globals.organization === undefined)
    return { organizationId, userDomainId: session.profile.userDomainId };
  // Its people are in a domain of their own, if it has one.
  const path = `/provisioning/v2/organizations/${encodeURIComponent(organizationId)}`;
  const { body } = await session.api.call<{ userDomainId?: string }>('GET', path);
  return { organizationId, userDomainId: body.userDomainId };
}

function skippedKinds(lists: readonly string[] | undefined): ReadonlySet<KindName> {
  const found = (lists ?? []).map((list) => {
    const kind = kinds.find((each) => each.list === list);
    return (
      kind?.name ??
      fail(
        'usage',
        `“${list}” is no list of an estate.`,
        `Known: ${kinds.map((each) => each.list).join(', ')}`,
      )
    );
  });
  return new Set(found);
}

async function readServer(
  kit: Kit,
  home: Home,
  skipped: ReadonlySet<KindName>,
  only?: readonly string[],
): Promise<Estate> {
  const progress = kit.screen.progress('Reading the estate');
  try {
    return await readEstate(kit.api(), home, {
      progress,
      stopping: kit.world.stopping,
      skipped,
      only,
      note: (text) => kit.screen.note(text),
    });
  } finally {
    progress.end();
  }
}

/** Whole or not at all: a file of before stays until the new one is complete. */
function writeWhole(file: string, text: string): void {
  const unfinished = `${file}.${process.pid}.part`;
  try {
    writeFileSync(unfinished, text);
    renameSync(unfinished, file);
  } catch (error) {
    fail('fault', `${file} cannot be written: ${(error as NodeJS.ErrnoException).code}.`);
  }
}

const thingsIn = ({ things, below }: Estate): number =>
  below.reduce((sum, each) => sum + thingsIn(each), things.length);

async function exportEstate(kit: Kit, { out, merchant, skip }: ExportOptions): Promise<undefined> {
  const estate = await readServer(kit, await homeOf(kit), skippedKinds(skip), merchant);
  const isJson = out === undefined ? kit.screen.json : out.endsWith('.json');
  const text = estateText(estate, isJson);
  if (out === undefined) {
    kit.screen.text(text);
    return undefined;
  }
  writeWhole(out, text);
  const things = thingsIn(estate);
  kit.screen.result(
    { file: out, things, organizationsBelow: estate.below.length },
    () => `${things} things in ${out}\n`,
  );
  return undefined;
}

/** Kinds that the file does not speak of need not be read. */
function unspoken(wanted: Estate): ReadonlySet<KindName> {
  const all = ({ managed, things, below }: Estate): KindName[] => [
    ...managed,
    // Below a merchant alone, such as its configuration: no list at the top speaks of them.
    ...new Set(things.map(({ kind }) => kind)),
    ...below.flatMap(all),
  ];
  const spoken = new Set(all(wanted));
  // Named by others, so they are read for their keys.
  const needed: KindName[] = [
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
    kinds.map(({ name }) => name).filter((name) => !spoken.has(name) && !needed.includes(name)),
  );
}

async function planFor(kit: Kit, file: string): Promise<{ plan: Plan; home: Home }> {
  const wanted = readFile(file);
  const home = await homeOf(kit);
  return { plan: compare(wanted, await readServer(kit, home, unspoken(wanted))), home };
}

function showPlan(kit: Kit, plan: Plan, removes: string): void {
  const facts = () => ({
    ...countsOf(plan),
    changes: [...changesOf(plan)].map(({ organization, change }) =>
      changeFacts(organization, change),
    ),
  });
  if (kit.screen.json) kit.screen.document(facts());
  else kit.screen.text(planText(plan, kit.screen.paint, removes));
}

async function diffEstate(
  kit: Kit,
  file: string,
  wantsCode: boolean,
): Promise<ExitName | undefined> {
  const { plan } = await planFor(kit, file);
  showPlan(kit, plan, 'on the server alone');
  const { create, change, remove } = countsOf(plan);
  return wantsCode && create + change + remove > 0 ? 'differences' : undefined;
}

/** Secrets are told once: somebody has to say beforehand where they go. */
function demandPlaceForSecrets(plan: Plan, { secretsOut, showSecrets }: ImportOptions): void {
  const count = secretive(plan).length;
  if (count === 0 || secretsOut !== undefined || showSecrets) return;
  const [have, go] = count === 1 ? ['has a secret', 'it goes'] : ['have secrets', 'they go'];
  fail(
    'usage',
    `${count} of the things to be made ${have}, told once: say where ${go} with --secrets-out.`,
    '--show-secrets prints them on stderr instead.',
  );
}

async function demandConsent(kit: Kit, plan: Plan, { prune, yes }: ImportOptions): Promise<void> {
  const { remove } = countsOf(plan);
  if (!prune || yes || remove === 0) return;
  if (!kit.screen.json) kit.screen.text(planText(plan, kit.screen.paint, 'to remove'));
  await confirm(kit.world, `Remove ${remove} ${remove === 1 ? 'thing' : 'things'}?`, '--yes');
}

function tellOutcome(kit: Kit, outcome: Outcome, secrets: number): ExitName | undefined {
  const { stopped, failures, ...counts } = outcome;
  const facts = {
    ...counts,
    failures,
    secrets,
    complete: stopped === undefined && failures.length === 0,
  };
  kit.screen.result(facts, () => {
    const { created, changed, removed, unchanged } = counts;
    const failed = failures.map(
      ({ thing, action, message }) => `! ${action} ${visible(thing)}: ${visible(message)}\n`,
    );
    const total = `${created} created, ${changed} changed, ${removed} removed, ${unchanged} unchanged`;
    return `${failed.join('')}${total}${failures.length === 0 ? '' : `, ${failures.length} failed`}.\n`;
  });
  if (stopped !== undefined) {
    throw new CommandFault(stopped.exit, stopped.message, {
      more: [...stopped.more, 'The same command goes on where this one ended.'],
      facts: stopped.facts,
    });
  }
  return failures.length > 0 ? 'partlyDone' : undefined;
}

async function importEstate(
  kit: Kit,
  file: string,
  options: ImportOptions,
): Promise<ExitName | undefined> {
  const { plan, home } = await planFor(kit, file);
  if (options.dryRun) {
    showPlan(kit, plan, options.prune ? 'to remove' : 'on the server alone, and staying');
    return undefined;
  }
  demandPlaceForSecrets(plan, options);
  await demandConsent(kit, plan, options);
  const { create, change, remove } = countsOf(plan);
  const total = create + change + (options.prune ? remove : 0);
  const show = options.showSecrets ? (line: string) => kit.screen.note(line) : undefined;
  const secrets = openSecrets(options.secretsOut, show);
  const progress = kit.screen.progress('Applying the estate');
  try {
    const outcome = await applyPlan(kit.api(), home, plan, {
      prunes: options.prune === true,
      secrets,
      stopping: kit.world.stopping,
      ownClientId: kit.session().profile.clientId,
      ownSubject: (await kit.session().claims()).subject,
      step: (done) => progress.step(done, total),
    });
    progress.end();
    return tellOutcome(kit, outcome, secrets.count());
  } finally {
    progress.end();
    secrets.close();
  }
}

function addExport(estate: Command, { act }: Runner): void {
  estate
    .command('export')
    .description(
      'Writes the whole estate, with the organisations below, as one file. The same estate gives the same bytes.',
    )
    .option('-o, --out <file>', 'the file: .json is JSON, anything else YAML; left out: stdout')
    .option('-m, --merchant <key>', 'only this merchant, by its key or id; may be repeated', words)
    .option('--skip <lists>', 'lists that are left out, such as users,configurations', words)
    .addHelpText(
      'after',
      `
Secrets and passwords are never part of it. Things are named by their external id; those without
one by their name, and by the id of the server beside it.

Examples:
  $ switchyard estate export --out estate.yaml
  $ switchyard estate export --merchant lumiere --out lumiere.json`,
    )
    .action(act<ExportOptions>((kit, _args, options) => exportEstate(kit, options)));
}

export function addEstateCommands(program: Command, runner: Runner): void {
  const { act } = runner;
  const estate = program
    .command('estate')
    .summary('the whole estate as one file')
    .description(
      'The whole estate as one file: exported, kept in version control, compared, applied.',
    );
  addExport(estate, runner);
  estate
    .command('diff <file>')
    .description('Shows what import would create and change, and what is on the server alone.')
    .option('--exit-code', 'ends with 8 where there are differences')
    .addHelpText('after', '\nExample:\n  $ switchyard estate diff estate.yaml --exit-code')
    .action(
      act<{ exitCode?: boolean }>((kit, [file = ''], { exitCode }) =>
        diffEstate(kit, file, exitCode === true),
      ),
    );
  estate
    .command('import <file>')
    .description(
      'Makes the server hold what the file says. A second time it changes nothing; interrupted, it goes on where it ended.',
    )
    .option('--dry-run', 'only shows what would be done')
    .option('--prune', 'removes what the file does not have, in the lists that it has')
    .option('-y, --yes', 'removes without asking')
    .option(
      '--secrets-out <file>',
      'where new secrets go, a line of JSON each; the file is made for you alone',
    )
    .option('--show-secrets', 'prints new secrets on stderr')
    .addHelpText(
      'after',
      `
The file is checked as a whole before anything is sent. What the server refuses is named, and the
rest goes on; then the command ends with 9.

Examples:
  $ switchyard estate import estate.yaml --dry-run
  $ switchyard estate import estate.yaml --secrets-out secrets.jsonl
  $ switchyard estate import estate.yaml --prune --yes`,
    )
    .action(
      act<ImportOptions>((kit, [file = ''], options) => importEstate(kit, file, options), {
        finishes: true,
      }),
    );
}
