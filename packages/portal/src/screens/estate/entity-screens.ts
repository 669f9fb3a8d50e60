/** The form screens of the estate, one for each entity kind. */
import { createElement } from 'react';
import type { Screen } from '../../app/screen.ts';
import type { EstateKind } from './entity-kinds.ts';

export const newEntity =
  (kind: EstateKind): Screen['load'] =>
  async () => {
    const { NewEntity } = await import('./entity-forms.tsx');
    return { default: () => createElement(NewEntity, { kind }) };
  };

export const editEntity =
  (kind: EstateKind): Screen['load'] =>
  async () => {
    const { EditEntity } = await import('./entity-forms.tsx');
    return { default: () => createElement(EditEntity, { kind }) };
  };
