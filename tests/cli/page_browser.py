# SPDX-License-Identifier: Apache-2.0
"""Looks at pages of `npuprof report` in a headless Chromium.

    page_browser.py <page> <cluster.json> <chinese page> <hostile page> <directory for scratch> \
        <page of compare> <page of advisor> <page of phases>

Prints what is wrong, a line each, and "seen N" at the end: N things were checked.
"""
import json
import re
import sys

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

page, cluster_path, chinese, hostile, scratch, compared, advised, phased, remembered = sys.argv[1:10]
seen = 0


def check(what, found, expected=True):
    global seen
    seen += 1
    if found != expected:
        print(f"{what}: {found!r} instead of {expected!r}")


def start():
    options = Options()
    # The test runs as root in containers; a user's browser keeps its sandbox.
    for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1280,1000"):
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options)
    driver.set_page_load_timeout(120)
    return driver


def open_page(driver, path):
    driver.get("file://" + path)
    check(f"messages on the console of {path}", [each["message"] for each in driver.get_log("browser")], [])
    check(f"{path} is drawn", driver.find_element(By.TAG_NAME, "html").get_attribute("data-drawn") is not None)


def data_of(path):
    text = open(path, encoding="utf-8").read()
    return text, json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S).group(1))


def look_at_figures(driver, cluster):
    charts = driver.execute_script("return window.npuprofCharts")
    ranks = len(cluster["steps"][0]["ranks"])
    cells = driver.find_elements(By.CSS_SELECTOR, "#chart-heat rect[data-lane]")
    check("cells of the heat map", len(cells), ranks * len(cluster["steps"]))
    check("marks it says", charts["heat"]["marks"], len(cells))
    drawn = {(int(c.get_attribute("data-lane")), int(c.get_attribute("data-column"))): int(c.get_attribute("data-value")) for c in cells}
    true = {(rank["rank"], column): rank["computing_ns"] for column, step in enumerate(cluster["steps"]) for rank in step["ranks"]}
    check("computing in the cells", drawn, true)
    check("verdict", driver.find_element(By.ID, "verdict").text, " ".join(cluster["verdict"]["text"].split()))
    bars = driver.find_elements(By.CSS_SELECTOR, "#chart-bars rect.mark")
    check("marks of the bars", len(bars), charts["bars"]["marks"])
    lengths = [step for step in cluster["steps"] for step in step["ranks"] if step["iteration_ns"] is not None]
    mean = sum(each["iteration_ns"] for each in lengths) / len(lengths)
    check("the bar is as long as the mean iteration", abs(sum(charts["bars"]["values"][0][1:]) - mean) < 1)
    transports = {link["transport"] for link in cluster["links"]} - {"LOCAL"}
    options = driver.find_elements(By.CSS_SELECTOR, "#links option")
    check("transports", {option.text for option in options}, transports)
    links = driver.find_elements(By.CSS_SELECTOR, "#chart-links rect[data-link]")
    check("marks of the links", len(links), charts["links"]["marks"])
    rows = driver.find_elements(By.CSS_SELECTOR, "#chart-repairs rect.mark")
    check("marks of the repairs", len(rows), charts["repairs"]["marks"])
    fixes = {each["fix"]: each["saved_ns"] for each in cluster["whatif"]}
    check("gains of the repairs", all(fixes[row["fix"]] == row["saved_ns"] for row in charts["repairs"]["values"]))
    paths = driver.find_elements(By.CSS_SELECTOR, "#chart-flow path.mark, #chart-flow rect.mark")
    check("marks of the flow", len(paths), charts["flow"]["marks"])
    strips = driver.find_elements(By.CSS_SELECTOR, "#chart-pipeline rect.mark")
    check("marks of the pipeline", len(strips), sum(len(strip["slices"]) for strip in charts["pipeline"]["values"]))
    check("stages", len(charts["pipeline"]["values"]), 2)
    frequencies = driver.find_elements(By.CSS_SELECTOR, "#chart-frequency rect.mark")
    check("marks of the frequency", len(frequencies), ranks)
    check("sections", [each.get_attribute("id") for each in driver.find_elements(By.CSS_SELECTOR, "main > section")],
          ["next", "parts", "heat", "waiting", "links", "pipeline", "repairs", "findings", "frequency", "trust", "glossary"])
    causes = [each["cause"] for each in data_of(page)[1]["findings"] if each["cause"]]
    check("causes of several findings", len(driver.find_elements(By.CSS_SELECTOR, "#findings .cause")), len({c for c in causes if causes.count(c) > 1}))
    check("style attributes", len(driver.find_elements(By.CSS_SELECTOR, "main [style], header [style]")), 0)
    check("findings", len(driver.find_elements(By.CSS_SELECTOR, "#findings details[data-rule]")), charts["findings"]["marks"])


def use_it(driver, data):
    card = driver.find_element(By.ID, "card")
    cell = driver.find_element(By.CSS_SELECTOR, '#chart-heat rect[data-lane="1"]')
    driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", cell)
    cell.click()
    check("a click shows the card of the rank", card.is_displayed() and "rank 1" in card.text.replace("\u00a0", " "))
    driver.switch_to.active_element.send_keys(Keys.ESCAPE)
    check("Escape hides it", card.is_displayed(), False)
    heat = driver.find_element(By.CSS_SELECTOR, "#chart-heat svg")
    driver.execute_script("arguments[0].focus()", heat)
    for key in (Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ENTER):
        driver.switch_to.active_element.send_keys(key)
    check("arrows and Enter do as well", card.is_displayed() and "rank 3" in card.text.replace("\u00a0", " "))
    driver.switch_to.active_element.send_keys(Keys.ESCAPE)
    Select(driver.find_element(By.CSS_SELECTOR, "#heat select")).select_by_value("waited_ns")
    shown = driver.find_element(By.CSS_SELECTOR, '#chart-heat rect[data-lane="0"][data-column="0"]')
    check("another quantity is drawn", int(shown.get_attribute("data-value")), data["cells"]["waited_ns"][0][0])
    Select(driver.find_element(By.CSS_SELECTOR, "#waiting select")).select_by_value("matrix")
    cells = driver.find_elements(By.CSS_SELECTOR, "#chart-pairs rect.mark")
    check("the matrix is drawn", len(cells), len(data["flows"]["pairs"]))
    most = max(range(len(cells)), key=lambda i: data["flows"]["pairs"][i][2])
    cells[most].click()
    check("a cell of the matrix lists the operators in which the cause came last",
          card.is_displayed() and "hcom" in card.text and f"rank {data['flows']['pairs'][most][0]} " in card.text.replace("\u00a0", " "))
    card.send_keys(Keys.ESCAPE)
    group = Select(driver.find_element(By.CSS_SELECTOR, "#waiting select"))
    group.select_by_value("flow")
    bar = driver.find_element(By.CSS_SELECTOR, "#chart-flow rect.c-comm.click")
    bar.send_keys(Keys.ENTER)
    check("a communicator lists its operators", card.is_displayed() and "hcom" in card.text)
    driver.switch_to.active_element.send_keys(Keys.ESCAPE)
    for index in (0, 1):
        tick = driver.find_element(By.ID, f"fix-{index}")
        driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", tick)
        tick.click()
    check("two repairs ticked", int(driver.find_element(By.ID, "combined").get_attribute("data-ns")), data["repairs"]["subsets"][3])
    light = driver.execute_script("return getComputedStyle(document.body).backgroundColor")
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark"}]})
    dark = driver.execute_script("return getComputedStyle(document.body).backgroundColor")
    check("dark is another colour", light != dark)
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    check("printed without controls", [each.is_displayed() for each in driver.find_elements(By.CSS_SELECTOR, "nav, select, button")].count(True), 0)
    check("printed with evidence", all(each.is_displayed() for each in driver.find_elements(By.CSS_SELECTOR, "#findings details > p")))
    check("printed within the paper", all(driver.execute_script("return arguments[0].getAttribute('viewBox')", each) for each in driver.find_elements(By.CSS_SELECTOR, ".chart > svg")))
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
    folded = driver.execute_script("return document.querySelectorAll('details:not([open])').length")
    paper = driver.execute_script("dispatchEvent(new Event('beforeprint')); return document.querySelectorAll('details:not([open])').length")
    check("unfolded before pages are laid out", (folded > 0, paper), (True, 0))
    driver.execute_script("dispatchEvent(new Event('afterprint'))")
    check("folded again", driver.execute_script("return document.querySelectorAll('details:not([open])').length"), folded)


def look_at_chinese(driver):
    open_page(driver, chinese)
    titles = [each.text for each in driver.find_elements(By.TAG_NAME, "h2")]
    check("titles in Chinese", [title for title in titles if not re.search("[\u4e00-\u9fff]", title)], [])
    check("verdict in Chinese", bool(re.search("[\u4e00-\u9fff]", driver.find_element(By.ID, "verdict").text)), True)
    check("language of the page", driver.find_element(By.TAG_NAME, "html").get_attribute("lang"), "zh-CN")


def look_at_hostile(driver):
    open_page(driver, hostile)
    check("no element of a name", len(driver.find_elements(By.CSS_SELECTOR, "img, iframe, object, embed")), 0)
    check("the name is text", "<img src=x" in driver.execute_script("return document.body.textContent"))


def look_at_difference(driver):
    """The page of compare: the difference first, and its charts say what the data do."""
    open_page(driver, compared)
    _, data = data_of(compared)
    difference = data["difference"]
    charts = driver.execute_script("return window.npuprofCharts")
    check("first section of compare", driver.find_element(By.CSS_SELECTOR, "main > section").get_attribute("id"), "difference")
    steps = [sum(side) for side in charts["twobars"]["values"]]
    check("two bars", steps, [difference["step"]["base_ns"], difference["step"]["new_ns"]])
    rows = charts["difference"]["values"]
    check("waterfall", rows[0][1] + sum(row[1] for row in rows[1:-1]), rows[-1][1])
    check("marks of the waterfall", len(driver.find_elements(By.CSS_SELECTOR, "#chart-difference rect.mark")), len(rows))
    cells = driver.find_elements(By.CSS_SELECTOR, "#chart-changes rect.mark")
    check("change map", {int(c.get_attribute("data-rank")): int(c.get_attribute("data-ns")) for c in cells},
          {r["new_rank"]: r["own_new_ns"] - r["own_base_ns"] for r in difference["ranks"]})
    check("gate", "fail" in driver.find_element(By.ID, "gate").text)


def look_at_phases(driver):
    open_page(driver, phased)
    _, data = data_of(phased)
    select = Select(driver.find_element(By.ID, "phase"))
    check("phases to choose", [option.text for option in select.options], [each["phase"] for each in data["phases"]])
    select.select_by_index(2)
    check("another phase is drawn", driver.find_element(By.ID, "verdict").text, " ".join(data["phases"][2]["verdict"]["text"].split()))
    check("its figures", driver.execute_script("return window.npuprofCharts.heat.values"), data["phases"][2]["cells"]["computing_ns"])
    check("one page for all", len(driver.find_elements(By.CSS_SELECTOR, "#heat")), 1)
    check("table of the phases", len(driver.find_elements(By.CSS_SELECTOR, "#phases table:first-child tbody tr")) >= 3)
    check("choosing leaves no message", [each["message"] for each in driver.get_log("browser")], [])


def look_at_many(driver, text, data):
    """A thousand ranks and 20 columns: the data of the small page, repeated."""
    count, columns = 1024, 20
    old = len(data["lanes"]["rank"])
    width = len(data["columns"])
    many = json.loads(json.dumps(data))
    for name, values in data["lanes"].items():
        many["lanes"][name] = list(range(count)) if name == "rank" else [values[i % old] for i in range(count)]
    many["columns"] = [data["columns"][i % width] for i in range(columns)]
    for name, rows in data["cells"].items():
        many["cells"][name] = [[rows[i % old][j % width] for j in range(columns)] for i in range(count)]
        many["outliers"][name] = []
    many["parts"] = [data["parts"][i % old] for i in range(count)]
    many["part_steps"] = [data["part_steps"][i % old] for i in range(count)]
    many["kernels"]["total_ns"] = [data["kernels"]["total_ns"][i % old] for i in range(count)]
    path = scratch + "/many.html"
    begin, end = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S).span(1)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text[:begin] + json.dumps(many).replace("<", "\\u003c") + text[end:])
    open_page(driver, path)
    check("above 20,000 marks it is a canvas", len(driver.find_elements(By.CSS_SELECTOR, "#chart-heat canvas")), 1)
    check("marks", driver.execute_script("return window.npuprofCharts.heat.marks"), count * columns)


def look_at_memory(driver):
    open_page(driver, remembered)
    charts = driver.execute_script("return window.npuprofCharts")
    ranks = data_of(remembered)[1]["snapshots"]["ranks"]
    check("bars of ranks, two each", len(driver.find_elements(By.CSS_SELECTOR, "#chart-memory-ranks rect.mark")), 2 * charts["memory-ranks"]["marks"])
    check("peaks of ranks", sorted(charts["memory-ranks"]["values"]), sorted([each["rank"], each["peak_reserved_bytes"]] for each in ranks))
    check("blocks of the map", len(driver.find_elements(By.CSS_SELECTOR, "#chart-memory-map rect.mark")), charts["memory-map"]["marks"])
    check("curves", len(driver.find_elements(By.CSS_SELECTOR, "#chart-memory-curve path")), 2)
    check("the leak is said", "metrics.py:17:remember" in driver.find_element(By.ID, "memory").text)
    select = driver.find_element(By.ID, "memory-rank")
    select.find_elements(By.TAG_NAME, "option")[1].click()
    check("another rank is drawn", driver.execute_script("return window.npuprofCharts")["memory-curve"]["values"][0][0], 1)
    check("what fills its peak", len(driver.find_elements(By.CSS_SELECTOR, "#chart-memory-groups rect.mark")), driver.execute_script("return window.npuprofCharts")["memory-groups"]["marks"])


driver = start()
try:
    with open(cluster_path, encoding="utf-8") as file:
        cluster = json.load(file)
    text, data = data_of(page)
    open_page(driver, page)
    look_at_figures(driver, cluster)
    use_it(driver, data)
    look_at_chinese(driver)
    look_at_hostile(driver)
    look_at_difference(driver)
    look_at_phases(driver)
    look_at_memory(driver)
    open_page(driver, advised)
    check("first section of advisor", driver.find_element(By.CSS_SELECTOR, "main > section").get_attribute("id"), "findings")
    look_at_many(driver, text, data)
finally:
    driver.quit()
print(f"seen {seen}")
