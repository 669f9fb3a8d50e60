/** What may be done with a thing, behind one button. */
import { Button, Menu } from '@mantine/core';
import { Icon } from './icon.tsx';

export type VerbMenuProps<Verb extends string> = {
  /** Of the button. */
  readonly label: string;
  readonly verbs: readonly Verb[];
  readonly textOf: (verb: Verb) => string;
  readonly onChoose: (verb: Verb) => void;
};

export function VerbMenu<Verb extends string>(props: VerbMenuProps<Verb>) {
  const { label, verbs, textOf, onChoose } = props;
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <Button variant="default" rightSection={<Icon name="chevronDown" size={14} />}>
          {label}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {verbs.map((verb) => (
          <Menu.Item key={verb} onClick={() => onChoose(verb)}>
            {textOf(verb)}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
