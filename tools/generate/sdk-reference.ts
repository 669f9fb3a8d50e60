// docs/reference/sdk-*.md: the functions and types of an SDK, from their declarations and comments.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Exported, exportedBy } from '../architecture-rules/exported-doc-comment-rules.ts';
import { parseSource, type SourceFile } from '../architecture-rules/source-files.ts';

/** A doc comment: the text before the tags, and the text of each tag. */
type Comment = { readonly text: string; readonly tags: readonly (readonly [string, string])[] };

export type Sdk = 'sdk-pos' | 'sdk-provider' | 'sdk-device';

const introductions: Readonly<Record<Sdk, string>> = {
  'sdk-pos': `# SDK for points of sale

The functions and types of \`@switchyard/sdk-pos\`. [Build a till](../tutorials/build-a-till.md) shows their use. All times
are in milliseconds and all amounts in minor units, if the name has no other unit. Functions throw \`PosError\`; a refusal
of the terminal is an answer with the result \`Failure\`.`,
  'sdk-provider': `# SDK for QR providers

The functions and types of \`@switchyard/sdk-provider\`. [Write a QR provider](../tutorials/write-a-qr-provider.md) shows
their use.`,
  'sdk-device': `# SDK for devices

The functions and types of \`@switchyard/sdk-device\`. [Write a device
application](../how-to/terminal-vendors/write-a-device-application.md) shows their use.`,
};

function readComment(block = ''): Comment {
  const lines = block
    .replace(/^\/\*\*|\*\/$/g, '')
    .split('\n')
    .map((line) => line.replace(/^ *\* ?/, ''));
  const [text = '', ...tags] = lines.join('\n').trim().split(/^@/m);
  return {
    text: text.trim(),
    tags: tags.map((tag) => {
      const [, name = '', value = ''] = /^(\w+)\s*([\s\S]*)$/.exec(tag) ?? [];
      return [name, value.trim()];
    }),
  };
}

/** The declaration without the bodies of its functions. */
function signatureOf({ file: { text }, declaration }: Exported): string {
  if (declaration === null) return '';
  const { start, end } = declaration;
  if (declaration.type === 'FunctionDeclaration')
    return text.slice(start, declaration.body?.start).trim();
  if (declaration.type === 'VariableDeclaration')
    return text.slice(start, declaration.declarations[0]?.id.end);
  if (declaration.type !== 'ClassDeclaration') return text.slice(start, end);
  const members = declaration.body.body.filter(({ type }) => type === 'PropertyDefinition');
  const lines = members.map((member) => `  ${text.slice(member.start, member.end)}`);
  return `${text.slice(start, declaration.body.start)}{\n${lines.join('\n')}\n}`;
}

const fenced = (text: string): string =>
  text.startsWith('```') ? text : `\`\`\`ts\n${text}\n\`\`\``;

const oneLine = (text: string): string => text.replaceAll(/\s*\n\s*/g, ' ');

function describeTag([name, value]: readonly [string, string]): string[] {
  const [, parameter = '', text = ''] = /^(\w+) - ([\s\S]*)$/.exec(value) ?? [];
  if (name === 'param' && parameter === '')
    throw new Error(`@param must have the form “name - text”: ${value}`);
  if (name === 'param') return [`- \`${parameter}\`: ${oneLine(text)}`];
  if (name === 'returns') return [`- Returns ${oneLine(value)}`];
  return name === 'throws' ? [`- Throws ${oneLine(value)}`] : [];
}

const isType = ({ declaration }: Exported): boolean =>
  declaration?.type === 'TSTypeAliasDeclaration' || declaration?.type === 'TSInterfaceDeclaration';

/** The declaration of a type shows its use; a function also has its example. */
function describeExport(exported: Exported): string {
  const { text, tags } = readComment(exported.block);
  const example = isType(exported) ? undefined : tags.find(([name]) => name === 'example')?.[1];
  return [
    `### ${exported.name}`,
    text,
    fenced(signatureOf(exported)),
    tags.flatMap(describeTag).join('\n'),
    example === undefined ? '' : `Example:\n\n${fenced(example)}`,
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

export function sdkReference(root: string, sdk: Sdk): string {
  const files = new Map<string, SourceFile>();
  const read = (path: string): SourceFile => {
    const file =
      files.get(path) ?? parseSource({ path, text: readFileSync(join(root, path), 'utf8') });
    files.set(path, file);
    return file;
  };
  const isOwn = ({ file }: Exported) => file.path.startsWith(`packages/${sdk}/`);
  const exports = exportedBy(read(`packages/${sdk}/src/index.ts`), { get: read }).toSorted(
    (one, other) => Number(isOwn(other)) - Number(isOwn(one)),
  );
  return [
    introductions[sdk],
    '## Functions, classes and values',
    ...exports.filter((each) => !isType(each)).map(describeExport),
    '## Types',
    ...exports.filter(isType).map(describeExport),
  ]
    .join('\n\n')
    .concat('\n');
}
