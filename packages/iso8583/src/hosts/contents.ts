// Fields of payments that a host table builds from payment data, and reads into it.
import type { TextErrorPolicy } from '../compile-dialect.ts';
import { Iso8583Error } from '../errors.ts';
import type { Fields, Message } from '../message.ts';
import { type OperationName, operationNames } from '../operation-names.ts';
import {
  compileSubFields,
  findPart,
  type StructuredFormat,
} from '../sub-fields/compile-sub-fields.ts';
import {
  type ContentSource,
  type FieldContent,
  isConstant,
  isStructured,
  type StructuredContent,
  toCodedSource,
} from './field-content.ts';
import type { HostTable } from './host-table.ts';
import {
  findSource,
  type PaymentSource,
  requestSources,
  responseSources,
} from './payment-sources.ts';

type Text = {
  read(message: Message): string | undefined;
  write(message: Message, value: string): void;
  readonly isConstant: boolean;
};

type Format = StructuredFormat | undefined;

type Sources = { readonly [name: string]: PaymentSource };

/** One value, or the parts of a structure, of which one at least has data. */
function compileText(format: Format, field: number, content: FieldContent, sources: Sources): Text {
  if (isStructured(content)) return compileParts(format, field, content, sources);
  return compileSource(content, sources);
}

function compileSource(content: ContentSource, sources: Sources): Text {
  if (isConstant(content)) return { read: () => content.constant, write() {}, isConstant: true };
  const { source: name, codes = {}, maxLength } = toCodedSource(content);
  const source = findSource(sources, name);
  const inverse = Object.fromEntries(Object.entries(codes).map(([from, to]) => [to, from]));
  return {
    read(message) {
      const value = source?.read(message);
      return value === undefined ? undefined : (codes[value] ?? value).slice(0, maxLength);
    },
    write: (message, value) => source?.write?.(message, inverse[value] ?? value),
    isConstant: false,
  };
}

function compileParts(
  format: Format,
  field: number,
  content: StructuredContent,
  sources: Sources,
): Text {
  const subFields = format?.subFields && compileSubFields(format, field);
  const parts = Object.entries(content.parts).map(
    ([id, part]) => [id, compileText(findPart(format, id), field, part, sources)] as const,
  );
  return {
    read(message) {
      const values: Record<string, string> = {};
      let hasData = false;
      for (const [id, { read, isConstant: isFixed }] of parts) {
        const value = read(message);
        if (value === undefined) continue;
        values[id] = value;
        hasData ||= !isFixed;
      }
      return hasData ? subFields?.encode(values) : undefined;
    },
    write(message, value) {
      const values = subFields?.decode(value) ?? {};
      for (const [id, { write }] of parts) {
        const text = values[id];
        if (text !== undefined) write(message, text);
      }
    },
    isConstant: false,
  };
}

type FieldCodecs = readonly (readonly [field: number, codec: Text])[];

/** @throws Iso8583Error `table_invalid` for a field with a structure that contradicts itself */
export function compileContents(table: HostTable) {
  const { contents = {}, responseContents = {}, operations = {} } = table;
  const compileAll = (all: { readonly [field: number]: FieldContent | null }, sources: Sources) =>
    Object.entries(all).flatMap(([key, content]) => {
      const field = Number(key);
      return content === null
        ? []
        : [[field, compileText(table.messages.fields[field], field, content, sources)] as const];
    });
  const common = compileAll(contents, requestSources);
  const responses = compileAll(responseContents, responseSources);
  const byOperation = new Map(
    operationNames.map((name) => {
      const ofOperation = operations[name]?.contents;
      return [
        name,
        ofOperation === undefined
          ? common
          : compileAll({ ...contents, ...ofOperation }, requestSources),
      ] as const;
    }),
  );
  const codecsFor = (isAnswer: boolean, name: OperationName | undefined): FieldCodecs => {
    if (isAnswer) return responses;
    return (name === undefined ? undefined : byOperation.get(name)) ?? common;
  };
  return {
    /** The built fields of a canonical message. */
    encode(message: Message, isAnswer: boolean, name: OperationName | undefined): Fields {
      const fields: Fields = {};
      for (const [field, codec] of codecsFor(isAnswer, name)) fields[field] = codec.read(message);
      return fields;
    },
    /**
     * Removes the built fields, and returns the step that adds their data to the canonical message.
     *
     * @param errors decides whether a malformed field does not refuse the message
     */
    take(
      message: Message,
      isAnswer: boolean,
      errors?: TextErrorPolicy,
    ): (canonical: Message) => void {
      const values = codecsFor(isAnswer, message.operation?.name).map(([field, codec]) => {
        const value = message.fields[field];
        delete message.fields[field];
        return { field, codec, value };
      });
      return (canonical) => {
        for (const { field, codec, value } of values) {
          if (value === undefined) continue;
          try {
            codec.write(canonical, value);
          } catch (error) {
            if (!(error instanceof Iso8583Error) || errors?.canIgnore(field) !== true) throw error;
            errors.onIgnored(error);
          }
        }
      };
    },
  };
}
