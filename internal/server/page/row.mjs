// A row of the fleet.
import { Component, html } from "./vendor/preact.mjs";
import { ask } from "./verbs.mjs";
import { Icon } from "./icons.mjs";
import * as model from "./model.mjs";
import { Word, opens } from "./parts.mjs";
import { operates } from "./store.mjs";

const Conflicts = ({ all }) =>
  all.length > 0 && html`<span class="conflict" title=${model.conflictTitle(all)}>${model.conflictNames(all)}</span>`;

function Verb({ s, v }) {
  const label = `${v.label} ${s.name}`;
  return html`<button class=${v.ends ? "quiet ends" : "quiet"} disabled=${!operates()} aria-label=${label}
    title=${v.label} onClick=${() => ask([s], v)}>
    <${Icon} name=${v.icon} /></button>`;
}

// Row is drawn again when something in it differs: most rows stay as they are while the fleet scrolls.
export class Row extends Component {
  shouldComponentUpdate(next, { over }) {
    return over !== this.state.over || Object.keys(next).some((k) => next[k] !== this.props[k]);
  }

  // Its verbs are made when they are wanted: a page of rows has hundreds.
  enter = () => this.setState({ over: true });
  leave = () => this.setState({ over: false });

  render({ s, top, index, at, chosen, choose, text, now, age, differs }, { over }) {
    const classes = `row${at ? " at" : ""}${chosen ? " chosen" : ""}`;
    return html`<div class=${classes} role="row" aria-rowindex=${index + 2} onMouseEnter=${this.enter}
      onMouseLeave=${this.leave} onFocusIn=${this.enter} ...${opens(s)}
      style=${{ transform: `translateY(${top}px)` }}>
      <span role="cell" class="c-choose">
        <input type="checkbox" aria-label=${`select ${s.name}`} checked=${chosen}
          onChange=${() => choose(s)} /></span>
      <span role="cell"><${Word} s=${s} text=${text} /></span>
      <span role="cell" class="c-session"><a href=${model.link(s)}>${s.name}</a>${" "}<small>${s.agent}</small></span>
      <span role="cell" class="c-now" title=${now}>${now}</span>
      <span role="cell" class="c-branch" title=${differs}>
        ${differs && html`<b class="differs" aria-label="differs">≠</b>${" "}`}${s.branch}</span>
      <span role="cell" class="c-changes">${model.lines(s)}</span>
      <span role="cell" class="c-merge"><${Conflicts} all=${model.conflicts(s)} />
        ${model.behind(s) && html`<span class="behind">${model.behind(s)}</span>`}</span>
      <span role="cell" class="c-number c-cost" title=${model.priced(s.usage)}>${model.cost(s.usage)}</span>
      <span role="cell" class="c-number c-age">${age}</span>
      <span role="cell" class="row-verbs">${
        (at || over) && model.verbs(s).map((v) => html`<${Verb} key=${v.name} s=${s} v=${v} />`)
      }</span>
    </div>`;
  }
}
