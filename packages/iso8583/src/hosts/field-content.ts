// The members of a host table for fields that are built from payment data.
import { isObject } from '@switchyard/contract';

/** A source whose values have other codes at the host, or a maximum length. */
export type CodedSource = {
  readonly source: string;
  /** A value without a line stays as it is. */
  readonly codes?: { readonly [value: string]: string };
  /** In characters; longer values are cut. */
  readonly maxLength?: number;
};

/** The name of a source, or a constant. */
export type ContentSource = string | { readonly constant: string } | CodedSource;

/** The content of each part of a field, or of a part of it, with `subFields`. */
export type StructuredContent = { readonly parts: { readonly [id: string]: FieldContent } };

/** One source for the whole field, or one for each part. */
export type FieldContent = ContentSource | StructuredContent;

export type Contents = { readonly [field: number]: FieldContent };

export const isStructured = (content: FieldContent): content is StructuredContent =>
  isObject(content) && 'parts' in content;

export const isConstant = (content: ContentSource): content is { readonly constant: string } =>
  isObject(content) && 'constant' in content;

export const toCodedSource = (content: string | CodedSource): CodedSource =>
  typeof content === 'string' ? { source: content } : content;
