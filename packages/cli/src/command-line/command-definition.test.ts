import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { membersOf } from '../http/problem-details.ts';
import { commandDefinitions } from '../program.ts';
import type { CommandDefinition, RequestCommand } from './command-definition.ts';

const file = new URL('../../../../docs/reference/openapi.json', import.meta.url);
const document = membersOf(JSON.parse(readFileSync(file, 'utf8')));

/** The member of the document at a JSON pointer such as `#/components/schemas/User`. */
const atPointer = (pointer: string): unknown =>
  pointer
    .split('/')
    .slice(1)
    .reduce<unknown>((value, name) => membersOf(value)[name], document);

const operationOf = ({ route }: RequestCommand) => {
  const [method = '', path = ''] = route.split(' ');
  return membersOf(membersOf(membersOf(document['paths'])[path])[method.toLowerCase()]);
};

function queryParameters(command: RequestCommand): unknown[] {
  const { parameters } = operationOf(command);
  return (Array.isArray(parameters) ? parameters.map(membersOf) : [])
    .filter((parameter) => parameter['in'] === 'query')
    .map(({ name }) => name);
}

function propertiesOf(schema: unknown): string[] {
  const { $ref, properties, anyOf, oneOf, allOf } = membersOf(schema);
  if (typeof $ref === 'string') return propertiesOf(atPointer($ref));
  const parts = [anyOf, oneOf, allOf].flatMap((each) => (Array.isArray(each) ? each : []));
  return [...Object.keys(membersOf(properties)), ...parts.flatMap(propertiesOf)];
}

function bodyMembers(command: RequestCommand): string[] {
  const { content } = membersOf(operationOf(command)['requestBody']);
  return propertiesOf(membersOf(membersOf(content)['application/json'])['schema']);
}

const requestCommands = (definitions: readonly CommandDefinition[]): RequestCommand[] =>
  definitions.flatMap((each) => {
    if ('group' in each) return requestCommands(each.commands);
    return 'route' in each ? [each] : [];
  });

test('each request of a command is an operation of the OpenAPI document with these members', () => {
  const commands = requestCommands(commandDefinitions());
  assert.ok(commands.length > 40);
  for (const command of commands) {
    const { route, options = [], members = {}, columns } = command;
    assert.equal(typeof operationOf(command)['operationId'], 'string', route);
    const documented = columns === undefined ? bodyMembers(command) : queryParameters(command);
    const used = options.flatMap(({ member }) => member ?? []);
    const unknown = [...used, ...Object.keys(members)].filter((name) => !documented.includes(name));
    assert.deepEqual(unknown, [], route);
  }
});
